"""Which addresses a process listens on, as the kernel knows them."""

import ipaddress
import os
import socket
from contextlib import suppress
from pathlib import Path

_LISTENS = "0A"


def listening_addresses(*pids):
    """Returns the TCP addresses at which these processes listen, without ports."""
    sockets = {inode for pid in pids for inode in _sockets_of(pid)}
    found = set()
    for table in ("tcp", "tcp6"):
        for line in Path("/proc/net", table).read_text().splitlines()[1:]:
            words = line.split()
            if words[3] == _LISTENS and words[9] in sockets:
                found.add(_address(words[1].partition(":")[0]))
    return found


def _sockets_of(pid):
    found = set()
    with suppress(OSError):
        for entry in Path(f"/proc/{pid}/fd").iterdir():
            with suppress(OSError):
                target = os.readlink(entry)
                if target.startswith("socket:["):
                    found.add(target[len("socket:[") : -1])
    return found


def _address(text):
    """The kernel writes words of 32 bits in the machine's order."""
    words = [bytes.fromhex(text[start : start + 8])[::-1] for start in range(0, len(text), 8)]
    packed = b"".join(words)
    return str(ipaddress.ip_address(packed if len(packed) == 16 else socket.inet_ntoa(packed)))
