package paimark.library;

import java.io.IOException;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.apache.paimon.catalog.CatalogContext;
import org.apache.paimon.fs.FileIO;
import org.apache.paimon.fs.FileStatus;
import org.apache.paimon.fs.Path;
import org.apache.paimon.fs.PositionOutputStream;
import org.apache.paimon.fs.SeekableInputStream;
import org.apache.paimon.options.Options;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.table.FileStoreTableFactory;

/**
 * A table's files, which notes what one task creates, so that all of it can be deleted.
 *
 * <p>The library tells of files that it finished only. Where a disk is full, it may leave others behind.
 */
final class NotedFiles implements FileIO {
    private static final long serialVersionUID = 1L;

    private final FileIO inner;
    private final transient Queue<Path> created = new ConcurrentLinkedQueue<>();

    NotedFiles(FileIO inner) {
        this.inner = inner;
    }

    /** The table, whose new files are noted here. */
    FileStoreTable in(FileStoreTable table) {
        return FileStoreTableFactory.createWithoutFallbackBranch(
                this, table.location(), table.schema(), new Options(), table.catalogEnvironment());
    }

    /** Each has a name that nobody else gives. */
    void deleteCreated() {
        created.forEach(inner::deleteQuietly);
    }

    @Override
    public PositionOutputStream newOutputStream(Path path, boolean overwrite) throws IOException {
        created.add(path);
        return inner.newOutputStream(path, overwrite);
    }

    @Override
    public SeekableInputStream newInputStream(Path path) throws IOException {
        return inner.newInputStream(path);
    }

    @Override
    public boolean isObjectStore() {
        return inner.isObjectStore();
    }

    @Override
    public void configure(CatalogContext context) {
        inner.configure(context);
    }

    @Override
    public FileStatus getFileStatus(Path path) throws IOException {
        return inner.getFileStatus(path);
    }

    @Override
    public FileStatus[] listStatus(Path path) throws IOException {
        return inner.listStatus(path);
    }

    @Override
    public boolean exists(Path path) throws IOException {
        return inner.exists(path);
    }

    @Override
    public boolean delete(Path path, boolean recursive) throws IOException {
        return inner.delete(path, recursive);
    }

    @Override
    public boolean mkdirs(Path path) throws IOException {
        return inner.mkdirs(path);
    }

    @Override
    public boolean rename(Path path, Path to) throws IOException {
        return inner.rename(path, to);
    }
}
