"""The app: every view and figure in the browser, for newcomers and for researchers. Start at entry/eyeline_app.py."""
