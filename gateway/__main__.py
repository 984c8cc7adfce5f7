"""`python -m gateway` is the command `agui-gateway`."""

from gateway.cli import main

if __name__ == "__main__":
    main()
