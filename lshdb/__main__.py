"""`python -m lshdb` is the `lshdb` command."""

from lshdb.cli.app import main

if __name__ == "__main__":
    main()
