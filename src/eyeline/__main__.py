"""`python -m eyeline` is the command `eyeline`."""

from eyeline.show.cli.main import main

if __name__ == "__main__":
    main()
