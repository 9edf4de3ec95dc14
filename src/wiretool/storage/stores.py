"""Objects of stores that pyarrow reaches: Amazon S3 and servers like it, Google Cloud, Azure, and HDFS."""

import os
import re
from collections.abc import Callable
from concurrent.futures import Future
from datetime import datetime, timedelta
from threading import Thread
from typing import TypeVar

from pyarrow import fs

from wiretool import limits
from wiretool.errors import CaptureError, UnopenedError
from wiretool.storage.object_stream import ChangedError, ObjectInfo, TransferError
from wiretool.storage.url_path import UrlPath, redact

T = TypeVar("T")
#: Variables with the URL of a server in place of Amazon's, in the order in which they count.
ENDPOINTS = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL")
#: Schemes of Azure, and the form of its URLs.
AZURE = ("abfs", "abfss")
_AZURE_URL = re.compile(r"abfss?://([^@/]+)@([^./]+)(?:\.[^/]*)?/*(.*)", re.IGNORECASE | re.DOTALL)
#: Characters of a reason; without a Java, HDFS names all places where none is.
REASON_CHARACTERS_MAX = 200
#: Where stores put the code of an error in the text of pyarrow: AWS (with its status and details), Google and Azure.
_AWS_ERROR = re.compile(r"AWS Error (\w+)(?: \(HTTP status (\d+)\))? during (\w+) operation: (.*)", re.DOTALL)
_GOOGLE_ERROR = re.compile(r"google::cloud::Status\((\w+): (.*?)(?: error_info=.*|\)(?:\. Detail: .*)?)$", re.DOTALL)
_AZURE_ERROR = re.compile(r"Azure Error: \[(\w*)\] (\d*)")
#: Codes and statuses after which other credentials are required.
DENIED = re.compile(
    r"ACCESS_DENIED|INVALID_ACCESS_KEY_ID|INVALID_CLIENT_TOKEN_ID|UNRECOGNIZED_CLIENT|MISSING_AUTHENTICATION_TOKEN|"
    r"OPT_IN_REQUIRED|(?:INVALID|INCOMPLETE)_SIGNATURE|SIGNATURE_DOES_NOT_MATCH|REQUEST_EXPIRED|"
    r"PERMISSION_DENIED|UNAUTHENTICATED|40[13]"
)
#: Codes and statuses after which another attempt is of no use.
REFUSED = re.compile(
    r"NO_SUCH_\w+|INVALID_\w+|(?:RESOURCE_)?NOT_FOUND|MALFORMED_QUERY_STRING|MISSING_PARAMETER|VALIDATION|"
    r"REQUEST_TIME_TOO_SKEWED|OBJECT_NOT_IN_ACTIVE_TIER|FAILED_PRECONDITION|(?!408|425|429)[34]\d\d"
)
#: Answers about an object that was deleted or became shorter.
GONE = re.compile(r"NO_SUCH_KEY|(?:RESOURCE_)?NOT_FOUND|OUT_OF_RANGE|404|416")
#: The beginning of errors about a library that is not there, and about a bucket of which the region was asked for.
_HOPELESS = re.compile(r"Unable to load |Bucket '[^']*' not found")
#: The time of the last change, as S3 names it.
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
#: Credentials that each store expects.
_CREDENTIALS = {
    "s3": "expected credentials as of the AWS CLI, such as AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE",
    "gs": "expected the default credentials of Google Cloud, such as GOOGLE_APPLICATION_CREDENTIALS",
    "abfs": "expected AZURE_STORAGE_KEY or AZURE_STORAGE_SAS_TOKEN that grants it",
    "abfss": "expected AZURE_STORAGE_KEY or AZURE_STORAGE_SAS_TOKEN that grants it",
}


def connect(path: UrlPath, *, repeats: bool = False) -> "tuple[fs.FileSystem, str]":
    """Return the store of an object, and its name there.

    UnopenedError where the store cannot be used at all; TransferError where another attempt may succeed. Only with
    `repeats` the store's client repeats requests that fail, as far as that can be set.
    """
    try:
        return run_in_thread(lambda: _connect(path, limits.REMOTE_ATTEMPTS_MAX if repeats else 1))
    except (OSError, ValueError) as err:
        if isinstance(err, ValueError) or _HOPELESS.match(str(err)):
            raise UnopenedError(str(path), f"cannot be opened: {shorten_reason(err)}") from err
        raise classify_failure(str(path), err) from err


def _connect(path: UrlPath, attempts: int) -> "tuple[fs.FileSystem, str]":
    name = path.url.partition("://")[2]
    if path.scheme == "s3":
        return _connect_s3(path, attempts), name
    if path.scheme == "gs":
        return fs.GcsFileSystem(retry_time_limit=timedelta(seconds=limits.REMOTE_CONNECT_S)), name
    if path.scheme in AZURE:
        return _connect_azure(path)
    host, _, name = name.partition("/")
    store, _ = fs.FileSystem.from_uri(f"{path.scheme}://{host}/")  # which decodes the names of objects
    return store, f"/{name}"


def _connect_s3(path: UrlPath, attempts: int) -> "fs.S3FileSystem":
    endpoint = _find_endpoint(path)
    region = os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION")
    if region is None and endpoint is None:
        region = fs.resolve_s3_region(path.url.partition("://")[2].partition("/")[0])
    return fs.S3FileSystem(
        endpoint_override=endpoint,
        region=region,
        retry_strategy=fs.AwsStandardS3RetryStrategy(max_attempts=attempts),
        connect_timeout=limits.REMOTE_CONNECT_S,
        request_timeout=limits.REMOTE_SILENCE_S,
        allow_delayed_open=True,  # one request for a small file
    )


def _connect_azure(path: UrlPath) -> "tuple[fs.FileSystem, str]":
    """Return an Azure account, by its key or token alone: other credentials that fail end the process in pyarrow."""
    found = _AZURE_URL.fullmatch(path.url)
    if found is None:
        raise UnopenedError(str(path), "no account; expected abfs://CONTAINER@ACCOUNT.dfs.core.windows.net/NAME")
    container, account, name = found.groups()
    if redact(path.url) != path.url:
        raise UnopenedError(str(path), "a token in the URL; expected AZURE_STORAGE_SAS_TOKEN")
    key, token = os.environ.get("AZURE_STORAGE_KEY"), os.environ.get("AZURE_STORAGE_SAS_TOKEN")
    if not key and not token:
        raise UnopenedError(str(path), "no credentials; expected AZURE_STORAGE_KEY or AZURE_STORAGE_SAS_TOKEN")
    # pyarrow appends a token to the URLs of requests as it is, and Azure names tokens with and without a "?".
    credentials = {"account_key": key} if key else {"sas_token": f"?{(token or '').removeprefix('?')}"}
    return fs.AzureFileSystem(account, **credentials), f"{container}/{name}"


def _find_endpoint(path: UrlPath) -> str | None:
    """Return the URL of the server that the environment names, None for Amazon's. UnopenedError where it is no URL."""
    for name in ENDPOINTS:
        if url := os.environ.get(name):
            if not url.startswith(("http://", "https://")) or "@" in url:
                why = f"{name}={redact(url)}: not the URL of a server; expected one such as http://127.0.0.1:9000"
                raise UnopenedError(str(path), why)
            return url
    return None


class StoredObject:
    """An object that is read by ranges. After each one its version is asked for: only then does the range count."""

    def __init__(self, url: UrlPath) -> None:
        self._url = url
        self._name = str(url)
        self._opened_store: tuple[fs.FileSystem, str] | None = None
        self._file: fs.NativeFile | None = None
        self._info = ObjectInfo(-1, "")

    def look(self) -> ObjectInfo:
        """Find the size and version. UnopenedError where the object does not exist, or access is denied."""
        if self._opened_store is None:
            self._opened_store = connect(self._url)
        try:
            self._file, self._info = run_in_thread(self._look)
        except ValueError as err:  # such as an empty name between two slashes
            raise UnopenedError(self._name, f"not the name of an object: {shorten_reason(err)}") from err
        except OSError as err:
            raise self._classify(err) from err
        return self._info

    def fetch(self, at: int, size: int) -> bytes:
        """Read one range. Errors as those of `RemoteObject`."""
        try:
            data, now = run_in_thread(lambda: self._range(at, size))
        except OSError as err:
            if isinstance(err, FileNotFoundError) or has_code(GONE, find_codes(err, self._path)):
                raise ChangedError from err
            reported = classify_failure(self._name, err, self._path)
            if isinstance(reported, CaptureError):
                reported.offset = at
            raise reported from err
        if now != self._info:
            raise ChangedError
        return data

    def close(self) -> None:
        """Close the object; connections are the store's."""
        if self._file is not None:
            self._file.close()

    @property
    def _store(self) -> "fs.FileSystem":
        assert self._opened_store is not None, "used before look"
        return self._opened_store[0]

    @property
    def _path(self) -> str:
        assert self._opened_store is not None, "used before look"
        return self._opened_store[1]

    def _look(self) -> "tuple[fs.NativeFile, ObjectInfo]":
        file = self._store.open_input_file(self._path)
        return file, self._read_info(file)

    def _range(self, at: int, size: int) -> tuple[bytes, ObjectInfo]:
        """Return a range, and the version of the object after that."""
        assert self._file is not None, "fetch before look"
        data = bytes(self._file.read_at(size, at))
        return data, self._look()[1]

    def _read_info(self, file: "fs.NativeFile") -> ObjectInfo:
        """Return the size and, as the version, the ETag; the time of the last change where a store has none."""
        facts = {name: value.decode("ascii", "replace") for name, value in (file.metadata() or {}).items()}
        tag, changed = facts.get("ETag", ""), facts.get("Last-Modified", "")
        if tag and _TIME.fullmatch(changed):
            return ObjectInfo(file.size(), tag, int(datetime.fromisoformat(changed).timestamp()) * 1_000_000_000)
        mtime_ns = self._store.get_file_info(self._path).mtime_ns or 0
        return ObjectInfo(file.size(), tag or str(mtime_ns or ""), mtime_ns)

    def _classify(self, err: OSError) -> CaptureError | TransferError:
        if isinstance(err, FileNotFoundError):
            return UnopenedError(self._name, self._explain_missing())
        return classify_failure(self._name, err, self._path)

    def _explain_missing(self) -> str:
        """Tell a missing bucket from a missing object, as far as the store answers."""
        bucket, _, key = self._path.partition("/")
        try:
            is_missing = bool(bucket and key) and self._store.get_file_info(bucket).type is fs.FileType.NotFound
        except OSError:
            is_missing = False
        return f"no such bucket: {bucket}" if is_missing else "no such object"


def run_in_thread(call: Callable[[], T]) -> T:
    """Return the result of a call of a store, which Ctrl-C does not interrupt: only the wait for it ends then."""
    result: Future[T] = Future()

    def run() -> None:
        try:
            result.set_result(call())
        except BaseException as err:  # noqa: BLE001  (it is raised in the thread that waits)
            result.set_exception(err)

    Thread(target=run, daemon=True).start()
    return result.result()


def classify_failure(name: str, err: OSError, path: str = "") -> CaptureError | TransferError:
    """Return the error for a request that failed: a TransferError where another attempt may succeed.

    `name` is how the object is shown, and `path` its name in the store, which does not belong to the reason.
    """
    codes = find_codes(err, path)
    if has_code(DENIED, codes) or isinstance(err, PermissionError):
        advice = _CREDENTIALS.get(name.partition(":")[0].lower(), "expected credentials that may read it")
        return UnopenedError(name, f"access denied; {advice}")
    if isinstance(err, IsADirectoryError) or str(err).startswith("Not a regular file"):
        return UnopenedError(name, "a bucket or folder; expected an object")
    if isinstance(err, FileNotFoundError) or has_code(REFUSED, codes):
        return UnopenedError(name, f"cannot be opened: {shorten_reason(err)}")
    return TransferError(shorten_reason(err))


def find_codes(err: Exception, path: str) -> frozenset[str]:
    """Return the code and the HTTP status of an error of pyarrow, whatever the object is called."""
    text = str(err)
    bucket, _, key = path.partition("/")
    for shown in (f"key '{key}'", f"bucket '{bucket}'", f"prefix='{key}'", path if key else ""):
        text = text.replace(shown, "") if shown else text
    for pattern in (_AWS_ERROR, _GOOGLE_ERROR, _AZURE_ERROR):
        if found := pattern.search(text):
            status = found[2] if pattern is not _GOOGLE_ERROR else ""
            return frozenset(each for each in (found[1], status) if each)
    return frozenset()


def has_code(kind: re.Pattern[str], codes: frozenset[str]) -> bool:
    """Return whether one of the codes of an error is of a kind."""
    return any(map(kind.fullmatch, codes))


def shorten_reason(err: Exception) -> str:
    """Return the reason in an error of pyarrow, in one line of bounded length, without secrets."""
    text = redact(" ".join(str(err).split()))
    if found := _AWS_ERROR.search(text):
        code, status, operation, details = found.groups()
        details = details.partition("; Details: ")[2] or details
        return f"{f'HTTP status {status}' if status else code} in {operation}: {details}".rstrip(". ")
    if found := _GOOGLE_ERROR.search(text):
        text = f"{found[1]}: {found[2]}"
    return text if len(text) <= REASON_CHARACTERS_MAX else f"{text[:REASON_CHARACTERS_MAX]}..."
