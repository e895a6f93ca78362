package paimark.library;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.List;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.hadoop.conf.Configuration;
import org.apache.paimon.catalog.CatalogContext;
import org.apache.paimon.fs.FileIO;
import org.apache.paimon.fs.FileStatus;
import org.apache.paimon.fs.Path;
import org.apache.paimon.fs.hadoop.HadoopFileIO;
import org.apache.paimon.fs.local.LocalFileIO;
import org.apache.paimon.options.Options;

/** A warehouse's files, each of which may be gone at any time: then there is no text, and there are no names. */
final class StoreFiles {
    final FileIO io;

    StoreFiles(FileIO io) {
        this.io = io;
    }

    /** Other files than local ones are reached by Hadoop's clients, with the settings that Spark's readers have. */
    static FileIO reached(Path place, Configuration hadoop) {
        String scheme = place.toUri().getScheme();
        if (scheme == null || scheme.equals("file")) {
            return new LocalFileIO();
        }
        HadoopFileIO files = new HadoopFileIO(place);
        Options options = new Options();
        // Else Paimon logs in by the ticket cache, and the whole process loses Spark's login by a keytab.
        options.set("security.kerberos.login.use-ticket-cache", "false");
        files.configure(CatalogContext.create(options, hadoop));
        return files;
    }

    /** Null: there is no such file. */
    String text(Path path) {
        try {
            return io.readFileUtf8(path);
        } catch (FileNotFoundException gone) {
            return null;
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
    }

    /** The names in a folder, in order, of those that are {@code wanted}. */
    List<String> names(Path folder, Predicate<FileStatus> wanted) {
        try {
            FileStatus[] found = exists(folder) ? io.listStatus(folder) : new FileStatus[0];
            return Stream.of(found).filter(wanted).map(each -> each.getPath().getName()).sorted()
                    .collect(Collectors.toList());
        } catch (FileNotFoundException gone) {
            return List.of();
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
    }

    /** When a folder was changed last, in milliseconds since 1970; null if there is none. */
    Long time(Path folder) {
        try {
            return io.getFileStatus(folder).getModificationTime();
        } catch (FileNotFoundException gone) {
            return null;
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
    }

    boolean exists(Path path) {
        try {
            return io.exists(path);
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
    }
}
