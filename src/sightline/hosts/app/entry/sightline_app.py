"""What Streamlit runs for each visitor, at each change: the frame, then the page."""

from sightline.hosts.app.shell import run

run()
