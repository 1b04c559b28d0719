"""The app: every view and figure in the browser, for newcomers and for those who have seen attention before. Start at entry/sightline_app.py."""
