"""URLs as people may see them: without the secrets that they may hold, which are a password, or the signature of a link."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from urllib.parse import unquote

_URL = re.compile(r"(?P<protocol>[A-Za-z][A-Za-z0-9+.-]*)://(?P<rest>.*)", re.DOTALL)
# Up to the last `@` before the path; or, where what follows a `:` is no port, a password with slashes in it.
_USER_INFO = re.compile(r"[^/]*@|[^/@\[]*:(?!\d*(?:/|$))[^@]*@")
_MESSAGE_CHARACTERS = 300
# Bounded, or a long word would take time squared.
_ANY_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{0,30}://\S+")
_SECRET_NAME = re.compile(
    r"SECRET|TOKEN|PASSWORD|PASSWD|CREDENTIAL|ACCESS_KEY|ACCOUNT_KEY|CONNECTION_STRING", re.IGNORECASE
)
_A_PIECE = 2  # so short a piece of a password gives nothing away
_A_WORD = 5  # so short a value may be a word of a message, and is no secret


def is_url(place: object) -> bool:
    return isinstance(place, str) and _URL.fullmatch(place) is not None


def public_url(url: str) -> str:
    """Returns the URL without user and password; a web address also loses what follows `?`, which may be a signature."""
    match = _URL.fullmatch(url)
    if match is None:
        return url
    protocol, rest = match["protocol"], match["rest"].removeprefix(_user_info(url))
    if protocol.lower() in ("http", "https"):
        rest = re.split(r"[?#]", rest, maxsplit=1)[0]
    return f"{protocol}://{rest}"


def error_text(url: str, error: Exception) -> str:
    """Returns the error's message on one line, without the secrets of `url` or of any other URL in it."""
    text = " ".join(str(error).split()) or type(error).__name__
    text = without_secrets(text, secrets_of([url], {}))
    return re.sub(r"\?[^\s'\"]+", "", text)[:_MESSAGE_CHARACTERS]


def secrets_of(texts: Iterable[str], environment: Mapping[str, str]) -> list[str]:
    """Returns the users, passwords and signatures in URLs, and the secrets of the environment, the longest first."""
    found = {
        value for name, value in environment.items() if _SECRET_NAME.search(name) and len(value) > _A_WORD
    }
    for url in (match[0] for text in texts for match in _ANY_URL.finditer(text)):
        user_info = _user_info(url)
        query = re.split(r"[?#]", url, maxsplit=1)[1:]
        values = [value for pair in "".join(query).split("&") for value in pair.partition("=")[2:]]
        long = [value for value in (*query, *values) if len(value) > _A_WORD]
        password = user_info[:-1].partition(":")[2]
        pieces = [piece for piece in re.split(r"[/?#:@]", password) if len(piece) > _A_PIECE]
        # A program that takes `/` for the end of the host quotes only a piece.
        for part in (user_info, password, *pieces, *long):
            found |= {part, unquote(part)}
    return sorted(filter(None, found), key=len, reverse=True)


def without_secrets(text: str, secrets: Iterable[str]) -> str:
    """Returns the text without these secrets, and without users, passwords and signatures of any URL in it."""
    for secret in secrets:
        before, after = (r"(?<!\w)" if secret[0].isalnum() else "", r"(?!\w)" if secret[-1].isalnum() else "")
        text = re.sub(before + re.escape(secret) + after, "" if secret.endswith("@") else "…", text)
    text = re.sub(r"(?<=://)[^/\s'\"]+@", "", text)
    return re.sub(r"(?<=\w)\?[^\s'\"=]{0,1000}=[^\s'\"]*", "", text)


def _user_info(url: str) -> str:
    """Returns `user:password@`, or an empty text."""
    match = _URL.fullmatch(url)
    found = _USER_INFO.match(match["rest"]) if match else None
    return found[0] if found else ""
