"""`python -m sightline` is the command `sightline`."""

from sightline.hosts.cli import main

if __name__ == "__main__":
    main()
