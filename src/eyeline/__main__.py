"""`python -m eyeline` is the command `eyeline`."""

from eyeline.hosts.cli.main import main

if __name__ == "__main__":
    main()
