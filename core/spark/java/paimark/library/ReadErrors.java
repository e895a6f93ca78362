package paimark.library;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.paimon.factories.FactoryException;
import org.apache.spark.sql.errors.QueryExecutionErrors;

/** The library's errors as Spark's own readers would tell them. */
final class ReadErrors {
    /** The path in the words of the library, of Java and of Hadoop. */
    private static final Pattern MISSING =
            Pattern.compile("^(?:File '|File )?(\\S+?)(?:'? not found|'? does not exist| \\(No such file).*", Pattern.DOTALL);

    private static final Pattern FORMAT = Pattern.compile("identifier '(\\S+)' that implements FileFormatFactory");

    private ReadErrors() {}

    /** An error to throw instead of this one, which came up while something of {@code place} was read. */
    static RuntimeException told(Exception error, String place) {
        for (Throwable cause = error; cause != null; cause = cause.getCause()) {
            if (cause instanceof FileNotFoundException) {
                return thrown(QueryExecutionErrors.fileNotExistError(path((Exception) cause, place), (Exception) cause));
            }
        }
        for (Throwable cause = error; cause != null; cause = cause.getCause()) {
            Matcher unknown = FORMAT.matcher(String.valueOf(cause.getMessage()));
            if (cause instanceof FactoryException && unknown.find()) {
                String format = unknown.group(1);
                return new IllegalArgumentException(
                        place + " has files of the format " + format + LakeDoor.unknownFormat(format));
            }
            if (cause instanceof IOException) {
                return thrown(QueryExecutionErrors.cannotReadFilesError(cause, place));
            }
        }
        return thrown(error);
    }

    private static String path(Exception error, String place) {
        Matcher found = MISSING.matcher(String.valueOf(error.getMessage()));
        return found.matches() ? found.group(1) : place;
    }

    @SuppressWarnings("unchecked")
    private static <E extends Throwable> RuntimeException thrown(Throwable error) throws E {
        throw (E) error;
    }
}
