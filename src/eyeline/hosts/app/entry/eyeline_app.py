"""What Streamlit runs for each visitor, at each change: the frame, then the page."""

from eyeline.hosts.app.shell import run

run()
