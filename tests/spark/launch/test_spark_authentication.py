"""What a running Spark on one machine says to a process that does not know its secret: nothing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

PROGRAM = """
import subprocess, sys
from pathlib import Path
from paimark.core.spark.protocol import Start
from paimark.core.spark.launch.session import start_spark

scratch, stranger = sys.argv[1:]
spark = start_spark(Start(scratch, {}, "local[2]", {"spark.driver.host": "localhost"}, scratch, True))
session = spark.session
jvm = session._jvm
settings = session.sparkContext.getConf()

def serialized(value):
    bytes_out = jvm.java.io.ByteArrayOutputStream()
    objects = jvm.java.io.ObjectOutputStream(bytes_out)
    objects.writeObject(value)
    objects.flush()
    return bytes(bytes_out.toByteArray())

# What Spark's own processes ask first: whether there is an endpoint of that name.
ask = getattr(jvm.org.apache.spark.rpc.netty, "RpcEndpointVerifier$CheckExistence")
question = serialized(ask("HeartbeatReceiver"))
port = settings.get("spark.driver.port")
said = subprocess.run(
    [sys.executable, stranger, port, question.hex()], capture_output=True, text=True, check=True
).stdout
print("STRANGER", said.strip())
# Tasks go on, also with what executors fetch of the driver over the network.
assert session.range(10).repartition(4).count() == 10
assert sorted(row[0] for row in session.range(3).mapInPandas(lambda it: it, "id long").collect()) == [0, 1, 2]
from paimark.core.spark.results.results import Results
from paimark.core.spark.session_conf import SessionConf
results = Results(spark, SessionConf(session))
print("ROWS", sum(count for _, count in results.streamed(session.range(100), "t")))
print("OUTLET", spark.port.bind)

secret = jvm.org.apache.spark.SparkEnv.get().securityManager().getSecretKey()
assert secret and len(secret) >= 32
for process in Path("/proc").iterdir():
    if process.name.isdigit():
        try:
            words = (process / "cmdline").read_bytes()
        except OSError:
            continue
        assert secret.encode() not in words, words
spark.stop()
"""
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


def test_a_stranger_on_the_machine_gets_no_answer(tmp_path: Path) -> None:
    stranger, scratch = tmp_path / "stranger.py", tmp_path / "scratch"
    stranger.write_text(STRANGER)
    scratch.mkdir(mode=0o700)
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(scratch), str(stranger)],
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    said = dict(line.split(" ", 1) for line in done.stdout.splitlines() if " " in line)
    assert done.returncode == 0, done.stderr[-3000:]
    assert said == {"STRANGER": "5", "ROWS": "100", "OUTLET": "127.0.0.1"}
