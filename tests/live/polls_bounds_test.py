"""What a poll never does, whatever the peer, the resolver or the environment would have it do."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

from devnet import Devnet

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "clients"))
from support import EXTENSION, CountingServer, connect, inline  # noqa: E402

# A resolver that hangs: it makes one file when it is asked and another when it gives up, long after the test.
SLOW_RESOLVER = r"""
#include <fcntl.h>
#include <netdb.h>
#include <stdlib.h>
#include <unistd.h>
int getaddrinfo(const char *node, const char *service, const struct addrinfo *hints, struct addrinfo **result) {
  (void)node; (void)service; (void)hints; (void)result;
  close(open(getenv("SHIM_ASKED"), O_WRONLY | O_CREAT, 0600));
  sleep(120);
  close(open(getenv("SHIM_DONE"), O_WRONLY | O_CREAT, 0600));
  return EAI_AGAIN;
}
"""


class Resolver(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        directory = tempfile.TemporaryDirectory()
        cls.addClassCleanup(directory.cleanup)
        cls.directory = pathlib.Path(directory.name)
        subprocess.run([os.environ.get("CC", "cc"), "-shared", "-fPIC", "-x", "c", "-o", cls.directory / "shim.so", "-"],
                       input=SLOW_RESOLVER, text=True, check=True)

    def test_one_that_hangs_costs_a_timeout_and_nobody_else_anything(self):
        asked, done = self.directory / "asked", self.directory / "done"
        with CountingServer() as server:
            providers = inline(slow={"url": "http://name.invalid/", "ws_url": "ws://name.invalid/"},
                               quick={"url": server.url, "ws_url": "ws://127.0.0.1:9"})
            run = subprocess.run(
                ["sqlite3", "-cmd", f".load {EXTENSION}", ":memory:",
                 f"SELECT provider_id, method, error_class, error_kind FROM rpc_probe('{providers}') "
                 "WHERE method IN ('ws', 'eth_blockNumber') AND timeout_ms = 2000 ORDER BY 1, 2;"
                 f"SELECT provider_id, error_class FROM rpc_probe('{providers}') WHERE deadline_ms = 2000 ORDER BY 1"],
                capture_output=True, text=True, timeout=100,
                env={**os.environ, "LD_PRELOAD": str(self.directory / "shim.so"), "SHIM_ASKED": str(asked),
                     "SHIM_DONE": str(done)})
        self.assertEqual(run.stderr, "")
        self.assertEqual(run.stdout.splitlines(), ["quick|eth_blockNumber||", "quick|ws|connect|",
                                                   "slow|eth_blockNumber|dns|timeout", "slow|ws|dns|timeout", "quick|",
                                                   "slow|timeout"])
        self.assertTrue(asked.exists())
        self.assertFalse(done.exists())  # the whole process ended before the resolver did


class Peers(unittest.TestCase):
    def test_a_deadline_ends_the_round_and_those_that_answered_keep_their_answers(self):
        faults = {"stall": [{"name": "stall"}], "drip": [{"name": "drip"}], "fine": []}
        with Devnet([{"provider_id": name, "faults": fault} for name, fault in faults.items()], slot_ms=0) as fleet:
            rows = connect().execute(
                "SELECT provider_id, ok, error_class, error_kind, timestamp FROM rpc_probe(?) WHERE timeout_ms = 600000 "
                "AND deadline_ms = 3000 ORDER BY 1", (inline(**fleet.urls),)).fetchall()
        self.assertEqual([row[:4] for row in rows], [("drip", 0, "timeout", "deadline"), ("fine", 1, None, None),
                                                     ("stall", 0, "timeout", "deadline")])
        self.assertLess(rows[1][4], rows[0][4])

    def test_a_sequential_round_has_one_request_in_flight_and_retries_nothing(self):
        faults = {"a": [], "b": [{"name": "reset"}], "c": [{"name": "html_502"}]}
        with Devnet([{"provider_id": name, "faults": fault} for name, fault in faults.items()], slot_ms=0) as fleet:
            rows = connect().execute("SELECT provider_id, sample, ok, timestamp FROM rpc_probe(?) WHERE samples = 3 AND "
                                     "mode = 'sequential'", (inline(**fleet.urls),)).fetchall()
            self.assertEqual({name: sum(methods.values()) for name, methods in fleet.control("/counts").items()},
                             {"a": 3, "b": 3, "c": 3})
        self.assertEqual([row[:2] for row in rows], [(name, sample) for name in "abc" for sample in (1, 2, 3)])
        self.assertEqual([row[3] for row in rows], sorted(row[3] for row in rows))

    def test_a_redirect_is_not_followed(self):
        with CountingServer() as target, Devnet(["a"], slot_ms=0) as fleet:
            fleet.fault("a", "redirect_host", location=target.url)
            connect().execute("SELECT * FROM rpc_probe(?)", (inline(**fleet.urls),)).fetchall()
            self.assertEqual(target.requests, [])

    def test_a_cookie_is_not_kept(self):
        with Devnet(["a"], slot_ms=0) as fleet, CountingServer() as server:
            fleet.fault("a", "respond", headers={"Set-Cookie": "a=b"}, body='{"jsonrpc":"2.0","id":1,"result":"0x1"}')
            database = connect()
            for url in (fleet.urls["a"], server.url):
                database.execute("SELECT * FROM rpc_probe(?)", (inline(a=url),)).fetchall()
            self.assertNotIn("Cookie", server.requests[0][1])


class Environment(unittest.TestCase):
    """Variables and files that steer other programs over HTTP do not steer this one."""

    def test_no_proxy_no_netrc_no_curlrc(self):
        with CountingServer() as server, CountingServer() as proxy, tempfile.TemporaryDirectory() as home:
            for name in (".netrc", "_netrc"):
                pathlib.Path(home, name).write_text("default login user password secret\n")
                os.chmod(pathlib.Path(home, name), 0o600)
            pathlib.Path(home, ".curlrc").write_text(f'proxy = "{proxy.url}"\n')
            variables = {name: proxy.url for name in ("http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY",
                                                      "all_proxy", "ALL_PROXY")}
            run = subprocess.run(["sqlite3", "-cmd", f".load {EXTENSION}", ":memory:",
                                  f"SELECT ok FROM rpc_probe('{inline(a=server.url)}')"], capture_output=True, text=True,
                                 env={**os.environ, **variables, "HOME": home})
            self.assertEqual(run.stdout, "1\n")
            self.assertEqual(proxy.requests, [])
            self.assertNotIn("Authorization", server.requests[0][1])

    def test_what_is_sent_is_json_and_the_providers_headers_once(self):
        with CountingServer() as server:
            headers = json.dumps({"X-Key": "k", "content-type": "application/json; charset=utf-8"})
            connect().execute("SELECT * FROM rpc_probe(?)", (inline(a={"url": server.url + "/v2?x=1", "headers": headers}),)
                              ).fetchall()
            (path, sent, body), = server.requests
        self.assertEqual(path, "/v2?x=1")
        self.assertEqual((sent["X-Key"], sent["content-type"]), ("k", "application/json; charset=utf-8"))
        self.assertEqual(sorted(name.lower() for name in sent), ["accept", "accept-encoding", "content-length",
                                                                 "content-type", "host", "user-agent", "x-key"])
        self.assertEqual({**json.loads(body), "id": 0},
                         {"jsonrpc": "2.0", "id": 0, "method": "eth_blockNumber", "params": []})

    def test_params_are_sent_as_they_are_written(self):
        with CountingServer() as server:
            database = connect()
            odd = '["0xAbC", 12345678901234567890123, 1.10, {"b": 1, "a": [null, true]}]'
            database.execute("SELECT * FROM rpc_probe(?1) WHERE method IN ('eth_call', 'eth_chainId') AND params = ?2",
                             (inline(a=server.url), json.dumps({"eth_call": 0}).replace("0", odd))).fetchall()
            bodies = {json.loads(body)["method"]: body.decode() for _, _, body in server.requests}
        self.assertIn(f'"params":{odd}', bodies["eth_call"])
        self.assertIn('"params":[]', bodies["eth_chainId"])


if __name__ == "__main__":
    unittest.main()
