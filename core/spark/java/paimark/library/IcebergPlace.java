package paimark.library;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.List;
import java.util.Objects;
import org.apache.paimon.fs.FileIO;
import org.apache.paimon.fs.Path;
import org.apache.paimon.iceberg.IcebergCommitCallback;
import org.apache.paimon.iceberg.IcebergOptions;
import org.apache.paimon.iceberg.IcebergPathFactory;
import org.apache.paimon.iceberg.metadata.IcebergMetadata;
import org.apache.paimon.options.Options;
import org.apache.paimon.table.FileStoreTable;

/**
 * How a table's Iceberg metadata spells the table's place.
 *
 * <p>They name every file by its whole path, and the library finds a file there that a commit takes away only by the
 * same spelling. A stock engine may call a warehouse {@code /lake}, and we {@code file:/lake}.
 */
final class IcebergPlace {
    private static final String HINT = "version-hint.text";

    private IcebergPlace() {}

    /** Null: there are no such metadata, or they are of another place. */
    static Path of(FileStoreTable table) {
        Options options = new Options(table.options());
        if (options.get(IcebergOptions.METADATA_ICEBERG_STORAGE) == IcebergOptions.StorageType.DISABLED) {
            return null;
        }
        Path place = table.location();
        for (Path folder : List.of(new Path(place, "metadata"), IcebergCommitCallback.catalogTableMetadataPath(table))) {
            String location = location(table.fileIO(), folder);
            if (location != null && isSame(new Path(location), place)) {
                return new Path(location);
            }
        }
        return null;
    }

    private static String location(FileIO files, Path folder) {
        try {
            long version = Long.parseLong(files.readFileUtf8(new Path(folder, HINT)).trim());
            return IcebergMetadata.fromPath(files, new IcebergPathFactory(folder).toMetadataPath(version)).location();
        } catch (FileNotFoundException none) {
            return null;
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        } catch (RuntimeException unreadable) {
            // The library writes them anew.
            return null;
        }
    }

    private static boolean isSame(Path one, Path other) {
        String path = one.toUri().getPath(), theirs = other.toUri().getPath();
        return path.equals(theirs) && Objects.equals(one.toUri().getAuthority(), other.toUri().getAuthority());
    }
}
