"""What a running Spark on one machine says to a process that does not know its secret: nothing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

from paimark.core.spark.launch.session import Spark
from paimark.core.spark.results.results import Results
from paimark.core.spark.session_conf import SessionConf

STRANGER = """
import socket, struct, sys
port, question = int(sys.argv[1]), bytes.fromhex(sys.argv[2])
name = b"endpoint-verifier"
# No sender; the receiver's address and name; what it is asked. As Spark's NettyRpcEnv writes it.
host = b"127.0.0.1"
body = b"\\0\\1" + struct.pack(">H", len(host)) + host + struct.pack(">i", port)
body += struct.pack(">H", len(name)) + name + question
# An RpcRequest (3) with a number; the answer is an RpcResponse (4), an RpcFailure (5) or the end.
message = struct.pack(">bqi", 3, 7, len(body)) + body
with socket.create_connection(("127.0.0.1", port), 10) as channel:
    channel.settimeout(10)
    channel.sendall(struct.pack(">q", 8 + len(message)) + message)
    try:
        answer = channel.recv(4096)
    except (TimeoutError, ConnectionError):
        answer = b""
print(answer[8] if len(answer) > 8 else "silence")
"""


def serialized(jvm: Any, value: Any) -> bytes:
    bytes_out = jvm.java.io.ByteArrayOutputStream()
    objects = jvm.java.io.ObjectOutputStream(bytes_out)
    objects.writeObject(value)
    objects.flush()
    return bytes(bytes_out.toByteArray())


def test_a_stranger_on_the_machine_gets_no_answer(spark_here: Spark) -> None:
    session = spark_here.session
    jvm: Any = session._jvm
    # What Spark's own processes ask first: whether there is an endpoint of that name.
    ask = getattr(jvm.org.apache.spark.rpc.netty, "RpcEndpointVerifier$CheckExistence")
    question = serialized(jvm, ask("HeartbeatReceiver"))
    port = session.sparkContext.getConf().get("spark.driver.port")
    words = [sys.executable, "-c", STRANGER, str(port), question.hex()]
    said = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    assert said.strip() == "5"
    # Tasks go on, also with what executors fetch of the driver over the network.
    assert session.range(10).repartition(4).count() == 10
    assert session.range(3).mapInPandas(lambda batches: batches, "id long").count() == 3
    results = Results(spark_here, SessionConf(session))
    assert sum(count for _, count in results.streamed(session.range(100), "t")) == 100
    assert spark_here.port.bind == "127.0.0.1"


def test_its_secret_is_on_no_command_line(spark_here: Spark) -> None:
    jvm: Any = spark_here.session._jvm
    secret = jvm.org.apache.spark.SparkEnv.get().securityManager().getSecretKey()
    assert secret and len(secret) >= 32
    for process in Path("/proc").iterdir():
        if process.name.isdigit():
            try:
                words = (process / "cmdline").read_bytes()
            except OSError:
                continue
            assert secret.encode() not in words, words
