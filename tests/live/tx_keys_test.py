"""Where tx_probe takes its key from: files and variables that it refuses, in words that never hold the key."""

import os
import sqlite3
import stat
import subprocess
import tempfile
import unittest
import unittest.mock

from devnet import Devnet
from ethereum import address_of
from nodes import EXTENSION
from transactions import fleet_database, key_text, new_key, own_chain_id, rows


def found_in_memory(process, piece):
    """How often the bytes stand in the memory of a process of ours."""
    count = 0
    with open(f"/proc/{process}/maps", encoding="utf-8") as maps, open(f"/proc/{process}/mem", "rb", 0) as memory:
        for line in maps:
            start, end = (int(digits, 16) for digits in line.split()[0].split("-"))
            try:
                memory.seek(start)
                count += memory.read(end - start).count(piece)
            except (OSError, ValueError, OverflowError):
                continue  # not readable, or the kernel's
    return count


class Keys(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.fleet = Devnet(["a"], chain_id=own_chain_id(), slot_ms=50, fund_all=True)

    @classmethod
    def tearDownClass(cls):
        cls.fleet.stop()

    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.path = os.path.join(directory.name, "key")
        self.database = fleet_database(self.fleet.urls, self.fleet.chain_id)
        self.addCleanup(self.database.close)
        self.key = new_key()

    def write(self, text, mode=0o600):
        with open(self.path, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(self.path, mode)

    def senders(self, signer, n=1):
        """Sends n through the signer; the accounts that the devnet saw."""
        found = rows(self.database, "SELECT * FROM tx_probe WHERE n = ? AND signer = ?", n, signer)
        self.assertEqual([row["state"] for row in found], ["confirmed"] * n)
        return {self.fleet.transaction(row["tx_hash"])["from"] for row in found}

    def refusal(self, signer=None):
        """The message; nothing may have been sent, and nothing of the key may stand in it."""
        before = len(self.fleet.control("/truth/transactions"))
        with self.assertRaises(sqlite3.Error) as refused:
            rows(self.database, "SELECT * FROM tx_probe WHERE signer = ?", "file:" + self.path if signer is None else signer)
        message = str(refused.exception)
        self.assertEqual(len(self.fleet.control("/truth/transactions")), before)
        for piece in (key_text(self.key)[i:i + 8] for i in range(0, 64, 8)):
            self.assertNotIn(piece, message.lower())
        return message

    def test_a_file_that_only_its_owner_reads_signs(self):
        for text in (key_text(self.key), "0x" + key_text(self.key).upper() + "\n", "\n " + key_text(self.key) + " \r\n\n"):
            with self.subTest(text[:2]):
                self.write(text)
                self.assertEqual(self.senders("file:" + self.path), {address_of(self.key)})
        self.write(key_text(self.key), 0o400)
        self.assertEqual(self.senders("file:" + self.path), {address_of(self.key)})

    def test_a_file_may_hold_several_keys(self):
        other = new_key()
        self.write(f"{key_text(self.key)}\n{key_text(other)}\n{key_text(self.key)}\n")
        self.assertEqual(self.senders("file:" + self.path, 6), {address_of(self.key), address_of(other)})

    def test_a_file_that_others_can_read_is_refused(self):
        for mode in (0o604, 0o640, 0o660, 0o644, 0o602, 0o601):
            with self.subTest(oct(mode)):
                self.write(key_text(self.key), mode)
                self.assertRegex(self.refusal(), "key file can be read by others: chmod 600")

    def test_a_link_counts_as_what_it_leads_to(self):
        self.write(key_text(self.key))
        link = self.path + "-link"
        os.symlink(self.path, link)
        self.assertEqual(self.senders("file:" + link), {address_of(self.key)})
        os.chmod(self.path, 0o644)
        self.assertRegex(self.refusal("file:" + link), "key file can be read by others")
        os.remove(self.path)
        self.assertRegex(self.refusal("file:" + link), "key file cannot be opened: no such file")

    def test_what_is_no_file_is_refused_without_waiting_for_it(self):
        os.mkfifo(self.path, 0o600)
        self.assertRegex(self.refusal(), "key file is not a regular file")
        self.assertRegex(self.refusal("file:" + os.path.dirname(self.path)), "key file is not a regular file")
        self.assertRegex(self.refusal("file:/dev/zero"), "key file is not a regular file")
        self.assertRegex(self.refusal("file:" + self.path + "/missing"), "key file cannot be opened")
        self.assertRegex(self.refusal("file:"), "key file cannot be opened")

    def test_an_empty_file_or_one_of_blank_lines_is_refused(self):
        self.write("")
        self.assertRegex(self.refusal(), "key file is empty")
        self.write(" \n\n")
        self.assertRegex(self.refusal(), "key file holds no key")

    def test_a_malformed_key_is_named_by_its_line(self):
        good = key_text(self.key)
        for text in (good[:-1], good + "0", good[:-1] + "g", good[:20] + " " + good[21:], "0x0x" + good[:-2],
                     good + "\0", "{\"key\": \"" + good + "\"}", "0" * 64, "f" * 64):
            with self.subTest(len(text)):
                self.write("\n" + text + "\n")
                self.assertRegex(self.refusal(), "signer: line 2 of the key file holds no private key")
        self.write(good + "\n" + good[:-1] + "\n")
        self.assertRegex(self.refusal(), "line 2 of the key file")

    def test_a_huge_file_is_refused(self):
        self.write(key_text(self.key) + "\n" + " " * (1 << 20))
        self.assertRegex(self.refusal(), "key file is too large")

    def test_a_variable_is_named_and_its_content_is_not(self):
        cases = {"": "RPCROUTE_KEY is not set", "  ": "RPCROUTE_KEY holds no private key",
                 key_text(self.key)[1:]: "RPCROUTE_KEY holds no private key",
                 key_text(self.key) + " x": "RPCROUTE_KEY holds no private key"}
        for text, message in cases.items():
            with self.subTest(len(text)), unittest.mock.patch.dict(os.environ, RPCROUTE_KEY=text):
                self.assertRegex(self.refusal("env:RPCROUTE_KEY"), message)
        with unittest.mock.patch.dict(os.environ, RPCROUTE_KEY=key_text(self.key)):
            self.assertRegex(self.refusal("env:RPCROUTE_KEY,RPCROUTE_KEY_2"), "RPCROUTE_KEY_2 is not set")
            self.assertRegex(self.refusal("env:RPCROUTE_KEY,"), "variables are named RPCROUTE_KEY")

    def test_no_other_variable_is_read(self):
        with unittest.mock.patch.dict(os.environ, MY_KEY=key_text(self.key)):
            for name in ("MY_KEY", "HOME", "rpcroute_key", "RPCROUTE_PROVIDER", "RPCROUTE_KEY;"):
                with self.subTest(name):
                    self.assertRegex(self.refusal("env:" + name), "variables are named RPCROUTE_KEY")

    def test_a_key_given_instead_of_where_it_is_kept_is_refused_without_being_repeated(self):
        for signer in (key_text(self.key), "0x" + key_text(self.key), "key:" + key_text(self.key), "", "ENV:RPCROUTE_KEY"):
            with self.subTest(signer[:4]):
                self.assertRegex(self.refusal(signer), "signer.*'env:RPCROUTE_KEY', 'file:/path' or 'node'")

    def test_a_key_given_as_a_variables_name_is_refused_without_being_repeated(self):
        for signer in ("env:" + key_text(self.key), "env:0x" + key_text(self.key)):
            self.assertRegex(self.refusal(signer), "variables are named RPCROUTE_KEY")

    def test_a_key_never_appears_in_a_row(self):
        self.write(key_text(self.key))
        found = rows(self.database, "SELECT * FROM tx_probe WHERE send = 0 AND signer = ?", "file:" + self.path)
        found += rows(self.database, "SELECT * FROM tx_probe WHERE signer = ?", "file:" + self.path)
        self.assertEqual([row["state"] for row in found], ["prepared", "confirmed"])
        self.assertNotIn(key_text(self.key), str(found).lower())

    def test_nothing_of_a_key_is_left_in_memory_when_the_statement_has_ended(self):
        self.write(key_text(self.key))
        path = self.path + ".db"
        fleet_database(self.fleet.urls, self.fleet.chain_id, path=path).close()
        with subprocess.Popen(["sqlite3", "-cmd", f".load {EXTENSION}", path], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, text=True, bufsize=1) as shell:
            try:
                print(f"SELECT state FROM tx_probe WHERE signer = 'file:{self.path}';", file=shell.stdin)
                self.assertEqual(shell.stdout.readline(), "confirmed\n")
                # The next answer comes when the statement is over.
                print("SELECT 'over';", file=shell.stdin)
                self.assertEqual(shell.stdout.readline(), "over\n")
                self.assertGreater(found_in_memory(shell.pid, os.path.basename(path).encode()), 0, "one can look")
                number = self.key.to_bytes(32, "big")
                for piece in (key_text(self.key)[:32].encode(), number[:16], number[16:], number[::-1][8:24]):
                    self.assertEqual(found_in_memory(shell.pid, piece), 0)
            finally:
                shell.kill()

    @unittest.skipIf(os.geteuid() != 0, "only root can give files away")
    def test_another_users_file_is_refused(self):
        self.write(key_text(self.key))
        os.chown(self.path, 12345, 12345)
        self.assertEqual(stat.S_IMODE(os.stat(self.path).st_mode), 0o600)
        self.assertRegex(self.refusal(), "key file belongs to another user")


if __name__ == "__main__":
    unittest.main()
