"""An S3 server on loopback (moto), with a bucket that anybody with credentials may read."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import fsspec
import httpx

from pipelines.process.workers import set_environment

BUCKET = "corpora"
# Serves until its stdin is closed. In a process of its own: it leaves files open, which pytest makes an error of.
SERVE = """
import sys
from moto.server import ThreadedMotoServer

server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
server.start()
print(server.get_host_and_port()[1], flush=True)
sys.stdin.read()
"""


@contextmanager
def open_bucket() -> Iterator[Any]:
    """A client of boto3 for a server with an empty bucket; processes that are started meanwhile find both."""
    import boto3

    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with subprocess.Popen([sys.executable, "-c", SERVE], text=True, **pipes) as server:
        settings = {
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{server.stdout.readline().strip()}", "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret",
            "AWS_CONFIG_FILE": os.devnull, "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
        }  # fmt: skip
        with set_environment(settings):
            client = boto3.client("s3")
            client.create_bucket(Bucket=BUCKET)
            yield client
            client.close()
        fsspec.get_filesystem_class("s3").clear_instance_cache()


@contextmanager
def requiring_credentials(client: Any) -> Iterator[None]:
    """For the time of the block the server knows nobody's key."""
    for data in (b"0", b"inf"):
        httpx.post(f"{client.meta.endpoint_url}/moto-api/reset-auth", content=data).raise_for_status()
        fsspec.get_filesystem_class("s3").clear_instance_cache()
        if data == b"0":
            yield


def upload(client: Any, folder: Path) -> str:
    """Put the files of a folder into the bucket; returns the address of the folder."""
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            client.put_object(Bucket=BUCKET, Key=path.relative_to(folder.parent).as_posix(), Body=path.read_bytes())
    return f"s3://{BUCKET}/{folder.name}"
