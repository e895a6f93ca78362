import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.Serializable;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.SocketChannel;
import org.apache.arrow.flatbuf.Message;
import org.apache.arrow.flatbuf.RecordBatch;
import org.apache.spark.Partition;
import org.apache.spark.TaskContext;
import org.apache.spark.TaskContext$;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.execution.CommandResultExec;
import org.apache.spark.sql.execution.LocalTableScanExec;
import org.apache.spark.sql.execution.SQLExecution$;
import org.apache.spark.sql.execution.SparkPlan;
import scala.collection.Iterator;
import scala.reflect.ClassTag$;
import scala.runtime.AbstractFunction0;
import scala.runtime.AbstractFunction2;

/**
 * A data frame's rows as Arrow batches, in the frames of {@code sender.py}: no Python in between.
 *
 * <p>Compiled where Spark runs, as {@code Scans} is; executors get the classes in a jar.
 */
public class ResultRows {
    /** All rows of a small result, one frame after the other, in the order of partitions. */
    public byte[] collected(final Dataset frame) {
        if (isHere(frame.queryExecution().executedPlan())) {
            return rowsHere(frame.toArrowBatchRdd());
        }
        return (byte[]) run(frame, new AbstractFunction0() {
            public Object apply() {
                return joined((Object[]) parts(frame.toArrowBatchRdd(), new FrameList()));
            }
        });
    }

    /** Lets each task hand in its rows at an outlet. Comes back when all have. */
    public void send(final Dataset frame, final String host, final int port, final byte[] token) {
        run(frame, new AbstractFunction0() {
            public Object apply() {
                return parts(frame.toArrowBatchRdd(), new RowSender(host, port, token));
            }
        });
    }

    private static Object run(Dataset frame, AbstractFunction0 body) {
        return SQLExecution$.MODULE$.withNewExecutionId(frame.queryExecution(), scala.Option.apply(null), body);
    }

    private static Object parts(RDD batches, AbstractFunction2 each) {
        return batches.context().runJob(batches, each, ClassTag$.MODULE$.Any());
    }

    private static boolean isHere(SparkPlan plan) {
        return plan instanceof LocalTableScanExec || plan instanceof CommandResultExec;
    }

    /** Rows that are in this process already take no task, nor an execution that Spark keeps a record of. */
    private static byte[] rowsHere(RDD batches) {
        Partition[] partitions = batches.partitions();
        Object[] found = new Object[partitions.length];
        TaskContext context = TaskContext$.MODULE$.empty();
        for (int number = 0; number < partitions.length; number++) {
            found[number] = new FrameList().apply(context, batches.iterator(partitions[number], context));
        }
        return joined(found);
    }

    private static byte[] joined(Object[] parts) {
        ByteArrayOutputStream all = new ByteArrayOutputStream();
        for (int number = 0; number < parts.length; number++) {
            byte[] part = (byte[]) parts[number];
            all.write(part, 0, part.length);
        }
        return all.toByteArray();
    }
}

/** Bytes of a batch and rows in it, then the batch. */
final class Frame {
    private static final int HEAD = 8;
    // Of a message of Arrow's: a mark, and how long what describes the batch is.
    private static final int PREFIX = 8;

    static ByteBuffer of(byte[] batch) {
        RecordBatch described = new RecordBatch();
        ByteBuffer message = ByteBuffer.wrap(batch);
        message.position(PREFIX);
        Message.getRootAsMessage(message).header(described);
        return frame(batch, (int) described.length());
    }

    static ByteBuffer end() {
        return frame(new byte[0], 0);
    }

    private static ByteBuffer frame(byte[] batch, int rows) {
        ByteBuffer frame = ByteBuffer.allocate(HEAD + batch.length).order(ByteOrder.LITTLE_ENDIAN);
        frame.putInt(batch.length).putInt(rows).put(batch);
        frame.position(0);
        return frame;
    }
}

/** In a task: all frames of a partition. */
final class FrameList extends AbstractFunction2 implements Serializable {
    public Object apply(Object context, Object batches) {
        Iterator each = (Iterator) batches;
        ByteArrayOutputStream frames = new ByteArrayOutputStream();
        while (each.hasNext()) {
            byte[] frame = Frame.of((byte[]) each.next()).array();
            frames.write(frame, 0, frame.length);
        }
        return frames.toByteArray();
    }
}

/**
 * In a task: connects, shows the token, names its partition, waits until it is known, then sends batches as
 * fast as they are taken. Without a connection the engine has all the rows it wants.
 */
final class RowSender extends AbstractFunction2 implements Serializable {
    private final String host;
    private final int port;
    private final byte[] token;

    RowSender(String host, int port, byte[] token) {
        this.host = host;
        this.port = port;
        this.token = token;
    }

    public Object apply(Object context, Object batches) {
        SocketChannel channel = connected(((TaskContext) context).partitionId());
        if (channel == null) {
            return null;
        }
        try {
            Iterator each = (Iterator) batches;
            boolean isTaken = true;
            while (isTaken && each.hasNext()) {
                isTaken = isTaken(channel, Frame.of((byte[]) each.next()));
            }
            if (isTaken) {
                // Without it a task that died would be taken for one with few rows.
                isTaken(channel, Frame.end());
            }
        } finally {
            close(channel);
        }
        return null;
    }

    private SocketChannel connected(int partition) {
        // A channel, as an interrupt must reach a task that waits for its turn.
        SocketChannel channel = null;
        try {
            channel = SocketChannel.open(new InetSocketAddress(host, port));
            ByteBuffer greeting = ByteBuffer.allocate(token.length + 4).order(ByteOrder.LITTLE_ENDIAN);
            greeting.put(token).putInt(partition);
            greeting.position(0);
            if (isTaken(channel, greeting) && channel.read(ByteBuffer.allocate(1)) == 1) {
                return channel;
            }
        } catch (IOException nobodyThere) {
            // Said by the null.
        }
        close(channel);
        return null;
    }

    private static boolean isTaken(SocketChannel channel, ByteBuffer data) {
        try {
            while (data.hasRemaining()) {
                channel.write(data);
            }
            return true;
        } catch (IOException gone) {
            return false;
        }
    }

    private static void close(SocketChannel channel) {
        try {
            if (channel != null) {
                channel.close();
            }
        } catch (IOException closedAlready) {
            // Nobody reads from it any more.
        }
    }
}
