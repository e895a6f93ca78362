import java.io.IOException;
import java.net.URI;
import java.util.HashMap;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FilterFileSystem;
import org.apache.hadoop.fs.s3a.S3AFileSystem;

/**
 * Hadoop's client of S3, made anew when the configuration has newer keys.
 *
 * <p>Hadoop keeps one client of a bucket as long as its process lives, with the keys that it had first. This class
 * takes its place, without Hadoop's cache, and has a cache of its own: of each bucket the client with the newest
 * keys. Spark sends the configuration with each scan, so executors get new keys with the next scan.
 */
public class RenewedS3 extends FilterFileSystem {
    /** Begins the setting with a bucket's number of keys, which grows with each change of the keys. */
    private static final String NUMBER = "paimark.s3.keys.";

    private static final HashMap CLIENTS = new HashMap();
    private static final HashMap NUMBERS = new HashMap();
    /** The clients before these: a task that runs may still read with one, while its keys last. */
    private static final HashMap EARLIER = new HashMap();

    public void initialize(URI name, Configuration conf) throws IOException {
        fs = client(name, conf);
        super.initialize(name, conf);
    }

    /** The clients are shared, so that a reader can't close one. */
    public void close() {}

    private static S3AFileSystem client(URI name, Configuration conf) throws IOException {
        String address = name.getScheme() + "://" + name.getAuthority();
        int number = conf.getInt(NUMBER + name.getAuthority(), 0);
        synchronized (CLIENTS) {
            S3AFileSystem client = (S3AFileSystem) CLIENTS.get(address);
            // A task of an earlier statement may come late, with older keys.
            if (client != null && number <= ((Integer) NUMBERS.get(address)).intValue()) {
                return client;
            }
            S3AFileSystem made = new S3AFileSystem();
            made.initialize(name, conf);
            CLIENTS.put(address, made);
            NUMBERS.put(address, Integer.valueOf(number));
            S3AFileSystem earlier = (S3AFileSystem) EARLIER.put(address, client);
            if (earlier != null) {
                earlier.close();
            }
            return made;
        }
    }
}
