"""`python -m gateway` is the command `agui-gateway`.

Python puts the current directory first among the places of its modules then. It is taken out before anything else is
imported: a repository in which the gateway is started must not replace a library by a file of the same name.
"""

import os
import sys

if sys.path and os.path.realpath(sys.path[0] or ".") == os.path.realpath("."):
    del sys.path[0]

from gateway.cli import main

if __name__ == "__main__":
    main()
