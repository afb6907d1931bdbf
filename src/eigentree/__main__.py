"""``python -m eigentree``: the same as the command ``eigentree``."""

from eigentree.cli.app import main

if __name__ == "__main__":
    main()
