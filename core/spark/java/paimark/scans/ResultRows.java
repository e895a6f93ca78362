package paimark.scans;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.Serializable;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.SocketChannel;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.security.SecureRandom;
import java.util.Arrays;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;
import org.apache.arrow.flatbuf.Message;
import org.apache.arrow.flatbuf.RecordBatch;
import org.apache.spark.SparkContext;
import org.apache.spark.TaskContext;
import org.apache.spark.TaskContext$;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.trees.TreePattern$;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.execution.CommandResultExec;
import org.apache.spark.sql.execution.LocalTableScanExec;
import org.apache.spark.sql.execution.SQLExecution$;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.SparkPlanner;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.unsafe.Platform;
import scala.Function0;
import scala.Function2;
import scala.Option;
import scala.collection.Iterator;
import scala.reflect.ClassTag$;
import scala.runtime.AbstractFunction2;

/**
 * Sends a data frame's rows as Arrow batches, in the frames of {@code outlet.py}, without Python workers.
 */
public final class ResultRows {
    private static final String ADAPTIVE = "spark.sql.adaptive.enabled";

    /** All rows of a small result, as frames in the order of partitions. */
    public byte[] collected(Dataset<Row> frame) {
        if (isHere(frame.queryExecution().executedPlan())) {
            return rowsHere(frame.toArrowBatchRdd());
        }
        return run(frame, () -> joined(parts(frame.toArrowBatchRdd(), new FrameList())));
    }

    /** As {@code collected}, for a frame of {@code Queries}; null if there may be more rows than {@code most}. */
    byte[] few(Dataset<Row> frame, int most) {
        LogicalPlan plan = frame.queryExecution().analyzed();
        if (plan instanceof LocalRelation) {
            // A local relation needs no optimising, and no job.
            boolean isFew = ((LocalRelation) plan).data().length() <= most;
            SparkPlanner planner = frame.queryExecution().sparkSession().sessionState().planner();
            return isFew ? rowsHere(frame.toArrowBatchRdd(planner.plan(plan).next())) : null;
        }
        LogicalPlan optimized = frame.queryExecution().optimizedPlan();
        Option<Object> rows = optimized.maxRows();
        if (rows.isEmpty() || (Long) rows.get() > most) {
            return null;
        }
        if (Totals.isOneOf(optimized)) {
            planAtOnce(frame);
        }
        return collected(frame);
    }

    /** Plans all stages at once, without adaptive execution, which gains nothing for a total. */
    private static void planAtOnce(Dataset<Row> frame) {
        SQLConf conf = frame.queryExecution().sparkSession().sessionState().conf();
        String before = conf.contains(ADAPTIVE) ? conf.getConfString(ADAPTIVE) : null;
        conf.setConfString(ADAPTIVE, "false");
        try {
            frame.queryExecution().executedPlan();
        } finally {
            if (before == null) {
                conf.unsetConf(ADAPTIVE);
            } else {
                conf.setConfString(ADAPTIVE, before);
            }
        }
    }

    /**
     * Makes each task send its rows to an outlet. Returns the number of tasks when all have finished.
     *
     * <p>Its job has the {@code tag}.
     */
    public int send(Dataset<Row> frame, String tag, String host, int port, byte[] secret) {
        tag(frame, tag);
        return run(frame, () -> parts(frame.toArrowBatchRdd(), new RowSender(host, port, secret))).length;
    }

    /** Sets the job tag of this thread, and removes all others. */
    static void tag(Dataset<Row> frame, String tag) {
        SparkContext context = frame.queryExecution().sparkSession().sparkContext();
        context.clearJobTags();
        context.addJobTag(tag);
    }

    static <T> T run(Dataset<Row> frame, Function0<T> body) {
        return SQLExecution$.MODULE$.withNewExecutionId(frame.queryExecution(), Option.empty(), body);
    }

    private static Object[] parts(RDD<byte[]> batches, Function2<TaskContext, Iterator<byte[]>, Object> each) {
        return (Object[]) batches.context().runJob(batches, each, ClassTag$.MODULE$.Any());
    }

    private static boolean isHere(SparkPlan plan) {
        return plan instanceof LocalTableScanExec || plan instanceof CommandResultExec;
    }

    /** Rows that are in this process already: without a task, and without an execution in Spark's records. */
    private static byte[] rowsHere(RDD<byte[]> batches) {
        TaskContext context = TaskContext$.MODULE$.empty();
        return joined(Arrays.stream(batches.partitions())
                .map(each -> new FrameList().apply(context, batches.iterator(each, context)))
                .toArray());
    }

    private static byte[] joined(Object[] parts) {
        ByteArrayOutputStream all = new ByteArrayOutputStream();
        for (Object part : parts) {
            all.writeBytes((byte[]) part);
        }
        return all.toByteArray();
    }
}

/** Recognises aggregates of all rows of one input: one row, to which each task adds. */
final class Totals {
    static boolean isOneOf(LogicalPlan plan) {
        LogicalPlan top = plan;
        while (top instanceof Project) {
            top = ((Project) top).child();
        }
        if (!(top instanceof Aggregate) || plan.containsPattern(TreePattern$.MODULE$.PLAN_EXPRESSION())) {
            return false;
        }
        Aggregate aggregate = (Aggregate) top;
        return aggregate.groupingExpressions().isEmpty()
                && Summaries.leaf(aggregate.child()).children().isEmpty()
                && !aggregate.aggregateExpressions().exists(each -> ((Expression) each).exists(Totals::isDistinct));
    }

    /** For a DISTINCT aggregate Spark shuffles rows by their values. */
    private static boolean isDistinct(Expression each) {
        return each instanceof AggregateExpression && ((AggregateExpression) each).isDistinct();
    }
}

/** A frame: the size of a batch in bytes, the number of its rows, then the batch. */
final class Frame {
    private static final int HEAD = 8;
    // The beginning of an Arrow message: a mark, and the length of the batch's metadata.
    private static final int PREFIX = 8;

    public static ByteBuffer of(byte[] batch) {
        RecordBatch described = new RecordBatch();
        ByteBuffer message = ByteBuffer.wrap(batch);
        message.position(PREFIX);
        Message.getRootAsMessage(message).header(described);
        return frame(batch, (int) described.length());
    }

    public static int rows(ByteBuffer frame) {
        return frame.getInt(4);
    }

    public static ByteBuffer end() {
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
final class FrameList extends AbstractFunction2<TaskContext, Iterator<byte[]>, Object> implements Serializable {
    @Override
    public Object apply(TaskContext task, Iterator<byte[]> batches) {
        ByteArrayOutputStream frames = new ByteArrayOutputStream();
        while (batches.hasNext()) {
            frames.writeBytes(Frame.of(batches.next()).array());
        }
        return frames.toByteArray();
    }
}

/** In a task: sends its rows to the outlet, as fast as the outlet takes them. */
final class RowSender extends AbstractFunction2<TaskContext, Iterator<byte[]>, Object> implements Serializable {
    private final String host;
    private final int port;
    private final byte[] secret;

    RowSender(String host, int port, byte[] secret) {
        this.host = host;
        this.port = port;
        this.secret = secret;
    }

    @Override
    public Object apply(TaskContext task, Iterator<byte[]> batches) {
        Outlet outlet = Outlet.open(host, port, secret, task.partitionId(), task.taskAttemptId());
        try {
            boolean isWanted = outlet.isWanted;
            while (isWanted && batches.hasNext()) {
                isWanted = outlet.takes(Frame.of(batches.next()));
            }
            if (isWanted) {
                // Without an end frame, a task that died would look like one with few rows.
                outlet.takes(Frame.end());
            }
        } finally {
            outlet.close();
        }
        return null;
    }
}

/** The connection to the engine; {@code outlet.py} describes how the two authenticate. */
final class Outlet {
    private static final int NONCE = 32;
    private static final int DIGEST = 32;
    private static final int MILLISECONDS = 20000;
    private final SocketChannel channel;
    public final boolean isWanted;

    private Outlet(SocketChannel channel, boolean isWanted) {
        this.channel = channel;
        this.isWanted = isWanted;
    }

    /** Fails if the engine can't be reached, so that rows are never lost silently. */
    public static Outlet open(String host, int port, byte[] secret, int partition, long attempt) {
        // A channel, because an interrupt must end a task that waits for its turn.
        SocketChannel channel = null;
        try {
            channel = SocketChannel.open();
            channel.socket().connect(new InetSocketAddress(host, port), MILLISECONDS);
            ByteBuffer challenge = ByteBuffer.allocate(NONCE);
            byte[] own = new byte[NONCE];
            new SecureRandom().nextBytes(own);
            boolean isWanted = isFilled(channel, challenge);
            if (isWanted) {
                ByteBuffer reply = ByteBuffer.allocate(NONCE + 12 + DIGEST).order(ByteOrder.LITTLE_ENDIAN);
                reply.put(own).putInt(partition).putLong(attempt);
                reply.put(digest(secret, challenge.array(), Arrays.copyOf(reply.array(), NONCE + 12)));
                reply.position(0);
                write(channel, reply);
                ByteBuffer proof = ByteBuffer.allocate(DIGEST);
                isWanted = isFilled(channel, proof);
                if (isWanted && !MessageDigest.isEqual(proof.array(), digest(secret, own, new byte[0]))) {
                    throw new IOException("somebody else listens there");
                }
            }
            return new Outlet(channel, isWanted);
        } catch (Exception failure) {
            close(channel);
            String why = failure.getMessage() == null ? failure.getClass().getSimpleName() : failure.getMessage();
            Platform.throwException(new IOException("No way to hand in rows at " + host + ":" + port + " (" + why + ")"));
            return null;
        }
    }

    /** Whether the engine took the frame. If not, it wants no more. */
    public boolean takes(ByteBuffer frame) {
        try {
            write(channel, frame);
            return true;
        } catch (IOException gone) {
            return false;
        }
    }

    public void close() {
        close(channel);
    }

    private static void close(SocketChannel channel) {
        try {
            if (channel != null) {
                channel.close();
            }
        } catch (IOException closedAlready) {
            // The connection is no longer used.
        }
    }

    private static byte[] digest(byte[] secret, byte[] first, byte[] second) throws GeneralSecurityException {
        Mac mac = Mac.getInstance("HmacSHA256");
        mac.init(new SecretKeySpec(secret, "HmacSHA256"));
        mac.update(first);
        return mac.doFinal(second);
    }

    private static boolean isFilled(SocketChannel channel, ByteBuffer into) throws IOException {
        while (into.hasRemaining()) {
            if (channel.read(into) < 0) {
                return false;
            }
        }
        return true;
    }

    private static void write(SocketChannel channel, ByteBuffer data) throws IOException {
        while (data.hasRemaining()) {
            channel.write(data);
        }
    }
}
