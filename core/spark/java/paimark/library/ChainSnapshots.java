package paimark.library;

import java.util.List;
import java.util.stream.Collectors;
import org.apache.paimon.codegen.CodeGenUtils;
import org.apache.paimon.codegen.RecordComparator;
import org.apache.paimon.fs.FileIO;
import org.apache.paimon.fs.Path;
import org.apache.paimon.manifest.PartitionEntry;
import org.apache.paimon.schema.TableSchema;
import org.apache.paimon.table.CatalogEnvironment;
import org.apache.paimon.table.ChainGroupReadTable;
import org.apache.paimon.table.FallbackReadFileStoreTable;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.table.PrimaryKeyFileStoreTable;
import org.apache.paimon.table.source.DataTableBatchScan;
import org.apache.paimon.table.source.DataTableScan;

/**
 * The snapshot branch of a chain table, which lists its partitions in order.
 *
 * <p>A chain begins at the last one before a day. Paimon 1.4 means to sort them for that, but compares each with
 * itself: which one it begins at is chance.
 */
final class ChainSnapshots extends PrimaryKeyFileStoreTable {
    private static final long serialVersionUID = 1L;

    private ChainSnapshots(FileIO files, Path place, TableSchema schema, CatalogEnvironment environment) {
        super(files, place, schema, environment);
    }

    /** The same table; of a chain, with its snapshot branch in order. */
    static FileStoreTable ordered(FileStoreTable table) {
        if (!(table instanceof FallbackReadFileStoreTable)
                || !(((FallbackReadFileStoreTable) table).other() instanceof ChainGroupReadTable)) {
            return table;
        }
        FallbackReadFileStoreTable main = (FallbackReadFileStoreTable) table;
        ChainGroupReadTable chain = (ChainGroupReadTable) main.other();
        FileStoreTable full = chain.wrapped();
        FileStoreTable sorted =
                new ChainSnapshots(full.fileIO(), full.location(), full.schema(), full.catalogEnvironment());
        return new FallbackReadFileStoreTable(main.wrapped(), new ChainGroupReadTable(sorted, chain.other()), true);
    }

    @Override
    public FileStoreTable copy(TableSchema schema) {
        ChainSnapshots copied = new ChainSnapshots(fileIO, path, schema, catalogEnvironment);
        if (manifestCache != null) {
            copied.setManifestCache(manifestCache);
        }
        return copied;
    }

    @Override
    public DataTableScan newScan() {
        RecordComparator order =
                CodeGenUtils.newRecordComparator(tableSchema.logicalPartitionType().getFieldTypes());
        return new DataTableBatchScan(tableSchema, schemaManager(), coreOptions(), newSnapshotReader(),
                catalogEnvironment.tableQueryAuth(coreOptions())) {
            @Override
            public List<PartitionEntry> listPartitionEntries() {
                return super.listPartitionEntries().stream()
                        .sorted((one, other) -> order.compare(one.partition(), other.partition()))
                        .collect(Collectors.toList());
            }
        };
    }
}
