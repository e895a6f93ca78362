package paimark.scans;

import java.net.InetAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.IntStream;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.api.java.function.Function;

/** Looks at the machines of executors by a small job, by which an elastic cluster is asked for the first of them. */
public final class Nodes {
    private Nodes() {}

    /** What each of so many tasks found: its machine, that one's Java, and whether it sees the directory. */
    public static List<String> look(JavaSparkContext spark, int looks, String directory) {
        return spark.parallelize(IntStream.range(0, looks).boxed().toList(), looks).map(new Look(directory)).collect();
    }

    private static final class Look implements Function<Integer, String> {
        private static final long serialVersionUID = 1;
        /** Slow enough that no executor does all. */
        private static final long MILLIS = 300;

        private final String directory;

        Look(String directory) {
            this.directory = directory;
        }

        @Override
        public String call(Integer number) throws Exception {
            Thread.sleep(MILLIS);
            boolean sees = directory == null || Files.isDirectory(Path.of(directory));
            String host = InetAddress.getLocalHost().getHostName();
            return String.join("\t", host, System.getProperty("java.version"), String.valueOf(sees));
        }
    }
}
