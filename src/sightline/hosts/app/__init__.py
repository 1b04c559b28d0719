"""The app: every view and figure in the browser, for newcomers and for researchers. Start at entry/sightline_app.py."""
