package paimark.scans;

import java.io.ByteArrayOutputStream;
import java.io.Serializable;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import java.util.zip.CRC32;
import org.apache.spark.SparkEnv$;
import org.apache.spark.TaskContext;
import org.apache.spark.api.python.PythonUtils;
import org.apache.spark.rdd.DeterministicLevel$;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.storage.BlockData;
import org.apache.spark.storage.BlockId;
import org.apache.spark.storage.BlockManager;
import org.apache.spark.storage.BroadcastBlockId;
import org.apache.spark.storage.StorageLevel$;
import org.apache.spark.unsafe.Platform;
import org.apache.spark.util.io.ChunkedByteBuffer;
import scala.Option;
import scala.Tuple2;
import scala.collection.Iterator;
import scala.reflect.ClassTag$;
import scala.runtime.AbstractFunction2;

/**
 * Fetches a data frame's rows through Spark, for clusters that encrypt or speculate. Uses the classes of
 * {@code ResultRows}.
 */
public final class RelayedRows {
    /**
     * Fetches at least the first {@code most} rows through Spark, and sends them to an outlet as one partition. Its
     * jobs have the {@code tag}.
     */
    public int relay(Dataset<Row> frame, String tag, String host, int port, byte[] secret, long most) {
        ResultRows.tag(frame, tag);
        return ResultRows.run(frame, () -> {
            Outlet outlet = Outlet.open(host, port, secret, 0, 0);
            try {
                if (new Relay(frame.toArrowBatchRdd(), most, outlet).handOn()) {
                    outlet.takes(Frame.end());
                }
            } finally {
                outlet.close();
            }
            return 1;
        });
    }
}

/**
 * In the driver: rows through Spark. Tasks store their rows as blocks, which Spark encrypts if it is configured so.
 * Between two attempts at a task Spark chooses the valid one. Blocks that were lost with an executor are made again.
 *
 * <p>It runs some partitions at a time, the next ones while it sends these. One block at a time is in memory.
 */
final class Relay {
    private static final int MOST_AT_ONCE = 64;
    private final RDD<byte[]> batches;
    private final long most;
    private final Outlet outlet;
    private final BlockManager blocks = SparkEnv$.MODULE$.get().blockManager();
    // Broadcast ids, because Spark removes all blocks of a broadcast on all executors. Far from Spark's own ids.
    private static final AtomicLong IDS = new AtomicLong(1L << 62);
    private final long id = IDS.getAndIncrement();
    private final boolean isIndeterminate;
    private long rows;

    Relay(RDD<byte[]> batches, long most, Outlet outlet) {
        this.batches = batches;
        this.most = most;
        this.outlet = outlet;
        isIndeterminate =
                batches.outputDeterministicLevel().equals(DeterministicLevel$.MODULE$.INDETERMINATE());
    }

    /** Sends the rows. Whether the outlet took all that are wanted. */
    boolean handOn() {
        try {
            return all();
        } finally {
            blocks.master().removeBroadcast(id, true, false);
        }
    }

    private boolean all() {
        int count = batches.getNumPartitions();
        // If a shuffle gives another result each time, all rows must come from one job; Spark ensures that within it.
        int size = isIndeterminate ? count : most < Long.MAX_VALUE ? 1 : 4;
        Window now = count > 0 ? new Window(this, 0, Math.min(size, count)) : null;
        while (now != null) {
            size = Math.min(size * 4, Math.max(MOST_AT_ONCE, 4 * batches.context().defaultParallelism()));
            int end = Math.min(now.end + size, count);
            Window next = now.end < count && most == Long.MAX_VALUE ? new Window(this, now.end, end) : null;
            Object[] kept = now.kept();
            for (int number = now.start; number < now.end && rows < most; number++) {
                if (!isTaken(number, (Tuple2<?, ?>) kept[number - now.start])) {
                    return false;
                }
            }
            boolean isEnough = rows >= most || now.end >= count;
            now = isEnough ? null : next != null ? next : new Window(this, now.end, end);
        }
        return true;
    }

    Object[] made(int start, int end) {
        List<Object> partitions = new ArrayList<>();
        for (int number = start; number < end; number++) {
            partitions.add(number);
        }
        return (Object[]) batches.context().runJob(
                batches, new RowKeeper(id, most), PythonUtils.toSeq(partitions), ClassTag$.MODULE$.Any());
    }

    private boolean isTaken(int partition, Tuple2<?, ?> kept) {
        rows += (Long) kept._1();
        if (kept._2() instanceof byte[]) {
            return outlet.takes(ByteBuffer.wrap((byte[]) kept._2()));
        }
        long[] checks = (long[]) kept._2();
        for (int number = 1; number < checks.length; number++) {
            byte[] chunk = chunk(partition, checks, number);
            while (chunk == null) {
                checks = again(partition, checks, number);
                chunk = chunk(partition, checks, number);
            }
            if (!outlet.takes(ByteBuffer.wrap(chunk))) {
                return false;
            }
            blocks.master().removeBlock(RowKeeper.block(id, partition, checks[0], number));
        }
        return true;
    }

    /** Makes blocks again that were lost with their executor. They must begin as those that were sent. */
    private long[] again(int partition, long[] checks, int number) {
        Object kept = ((Tuple2<?, ?>) made(partition, partition + 1)[0])._2();
        boolean isSame = !isIndeterminate && kept instanceof long[] && ((long[]) kept).length == checks.length;
        for (int each = 1; isSame && each < number; each++) {
            isSame = ((long[]) kept)[each] == checks[each];
        }
        if (!isSame) {
            throw new IllegalStateException("an executor was lost with rows that come out otherwise now");
        }
        return (long[]) kept;
    }

    private byte[] chunk(int partition, long[] checks, int number) {
        BlockId block = RowKeeper.block(id, partition, checks[0], number);
        Option<BlockData> here = blocks.getLocalBytes(block);
        if (here.isDefined()) {
            try {
                ByteBuffer bytes = here.get().toByteBuffer();
                byte[] chunk = new byte[bytes.remaining()];
                bytes.get(chunk);
                return chunk;
            } finally {
                blocks.releaseLock(block, Option.empty());
            }
        }
        Option<ChunkedByteBuffer> there = blocks.getRemoteBytes(block);
        return there.isDefined() ? there.get().toArray() : null;
    }
}

/** A job for some partitions, in a thread of its own, which has the Spark properties of the creating thread. */
final class Window implements Runnable {
    final int start;
    final int end;
    private final Relay relay;
    private final Thread thread;
    private Object[] kept;
    private Throwable failure;

    Window(Relay relay, int start, int end) {
        this.relay = relay;
        this.start = start;
        this.end = end;
        thread = new Thread(this, "paimark-rows");
        thread.setDaemon(true);
        thread.start();
    }

    public void run() {
        try {
            kept = relay.made(start, end);
        } catch (Throwable thrown) {
            failure = thrown;
        }
    }

    Object[] kept() {
        try {
            thread.join();
        } catch (InterruptedException stop) {
            failure = stop;
        }
        if (failure != null) {
            Platform.throwException(failure);
        }
        return kept;
    }
}

/**
 * In a task: all frames of a partition, until there are {@code most} rows. Returns the number of rows, with the
 * frames if they are small, otherwise with the attempt's number and a checksum of each block.
 */
final class RowKeeper extends AbstractFunction2<TaskContext, Iterator<byte[]>, Object> implements Serializable {
    private static final int SMALL = 256 << 10;
    private static final int BLOCK = 8 << 20;
    private final long id;
    private final long most;

    RowKeeper(long id, long most) {
        this.id = id;
        this.most = most;
    }

    static BlockId block(long id, int partition, long attempt, int number) {
        return new BroadcastBlockId(id, "rows_" + partition + "_" + attempt + "_" + number);
    }

    @Override
    public Object apply(TaskContext task, Iterator<byte[]> batches) {
        ByteArrayOutputStream frames = new ByteArrayOutputStream();
        long[] checks = {task.taskAttemptId()};
        long rows = 0;
        while (rows < most && batches.hasNext()) {
            ByteBuffer frame = Frame.of(batches.next());
            rows += Frame.rows(frame);
            if (frames.size() > 0 && frames.size() + frame.capacity() > BLOCK) {
                checks = kept(task.partitionId(), checks, frames.toByteArray());
                frames.reset();
            }
            frames.write(frame.array(), 0, frame.capacity());
        }
        if (checks.length == 1 && frames.size() <= SMALL) {
            return new Tuple2<>(rows, frames.toByteArray());
        }
        return new Tuple2<>(rows, kept(task.partitionId(), checks, frames.toByteArray()));
    }

    private long[] kept(int partition, long[] checks, byte[] frames) {
        BlockId block = block(id, partition, checks[0], checks.length);
        ChunkedByteBuffer bytes = new ChunkedByteBuffer(ByteBuffer.wrap(frames));
        BlockManager blocks = SparkEnv$.MODULE$.get().blockManager();
        if (!blocks.putBytes(
                block, bytes, StorageLevel$.MODULE$.MEMORY_AND_DISK_SER(), true, ClassTag$.MODULE$.Any())) {
            throw new IllegalStateException("there is no room for rows: No space left on device");
        }
        CRC32 check = new CRC32();
        check.update(frames, 0, frames.length);
        long[] more = Arrays.copyOf(checks, checks.length + 1);
        more[checks.length] = check.getValue() << 32 | frames.length;
        return more;
    }
}
