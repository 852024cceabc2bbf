"""Hardhat 2 nodes on loopback."""

import contextlib
import os
import re
import subprocess
import tempfile

from nodes import NODES, drain

PROGRAM = os.path.join(NODES, "..", "hardhat", "internal", "cli", "cli.js")


@contextlib.contextmanager
def hardhat(chain_id=31337, automine=True):
    """A node on a free port; yields its URL and its process. Without automine blocks come by evm_mine alone."""
    with tempfile.TemporaryDirectory() as project:
        # Hardhat runs only where the project has it installed.
        os.symlink(os.path.abspath(os.path.join(NODES, "..")), os.path.join(project, "node_modules"))
        with open(os.path.join(project, "hardhat.config.js"), "w", encoding="utf-8") as config:
            config.write("module.exports = {solidity: '0.8.24', networks: {hardhat: {chainId: %d, mining: {auto: %s}}}};"
                         % (chain_id, "true" if automine else "false"))
        process = subprocess.Popen(["node", os.path.abspath(PROGRAM), "node", "--hostname", "127.0.0.1", "--port", "0"],
                                   cwd=project, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT, text=True,
                                   env={**os.environ, "HOME": project, "HARDHAT_DISABLE_TELEMETRY_PROMPT": "true",
                                        "FORCE_COLOR": "0"})
        try:
            for line in process.stdout:
                if listening := re.search(r"server at (http://[0-9.:]+)", line):
                    break
            else:
                raise RuntimeError("hardhat did not start")
            drain(process)
            yield listening[1], process
        finally:
            process.kill()
            process.wait()
            process.stdout.close()
