"""`python -m racer`."""

from racer.cli.main import main

__all__: list[str] = []

if __name__ == "__main__":
    main()
