package paimark.library;

import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.function.Consumer;
import org.apache.paimon.table.sink.CommitMessage;
import org.apache.spark.sql.connector.catalog.SupportsWrite;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.write.BatchWrite;
import org.apache.spark.sql.connector.write.DataWriterFactory;
import org.apache.spark.sql.connector.write.LogicalWriteInfo;
import org.apache.spark.sql.connector.write.PhysicalWriteInfo;
import org.apache.spark.sql.connector.write.Write;
import org.apache.spark.sql.connector.write.WriteBuilder;
import org.apache.spark.sql.connector.write.WriterCommitMessage;
import org.apache.spark.sql.types.StructType;

/** A table for Spark's tasks to write rows for: it keeps what they tell, and commits nothing. */
abstract class RowTarget implements SupportsWrite {
    private final String name;
    private final StructType columns;
    private final List<CommitMessage> messages = new ArrayList<>();

    RowTarget(String name, StructType columns) {
        this.name = name;
        this.columns = columns;
    }

    abstract DataWriterFactory factory(StructType given);

    abstract void delete(List<CommitMessage> written);

    /** What the tasks wrote. */
    List<CommitMessage> messages() {
        return messages;
    }

    @Override
    public String name() {
        return name;
    }

    @Override
    @Deprecated
    public StructType schema() {
        return columns;
    }

    @Override
    public Set<TableCapability> capabilities() {
        return Set.of(TableCapability.BATCH_WRITE, TableCapability.ACCEPT_ANY_SCHEMA);
    }

    @Override
    public WriteBuilder newWriteBuilder(LogicalWriteInfo info) {
        return new Tasks(info.schema());
    }

    private final class Tasks implements WriteBuilder, Write, BatchWrite {
        private final StructType given;

        Tasks(StructType given) {
            this.given = given;
        }

        @Override
        public Write build() {
            return this;
        }

        @Override
        public BatchWrite toBatch() {
            return this;
        }

        @Override
        public DataWriterFactory createBatchWriterFactory(PhysicalWriteInfo info) {
            return factory(given);
        }

        @Override
        public void commit(WriterCommitMessage[] told) {
            told(told, messages::addAll);
        }

        /** A task failed: those that did not have written files for nobody. No commit was tried. */
        @Override
        public void abort(WriterCommitMessage[] told) {
            told(told, RowTarget.this::delete);
        }

        private void told(WriterCommitMessage[] told, Consumer<List<CommitMessage>> use) {
            for (WriterCommitMessage each : told) {
                if (each != null) {
                    use.accept(((RowWriter.Told) each).messages);
                }
            }
        }
    }
}
