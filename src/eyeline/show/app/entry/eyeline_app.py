"""What Streamlit runs for each visitor, at each change: the frame, then the page."""

if __name__ != "__mp_main__":  # a process that the app starts reads the main file again, under this name
    from eyeline.show.app.shell import run

    run()
