package paimark.stores;

import java.io.IOException;
import java.net.URI;
import java.util.HashMap;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.FilterFileSystem;
import org.apache.hadoop.util.ReflectionUtils;

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

    /** Of a jar that is there only where a warehouse needs it. */
    private static final String CLIENT = "org.apache.hadoop.fs.s3a.S3AFileSystem";
    private static final HashMap<String, FileSystem> CLIENTS = new HashMap<>();
    private static final HashMap<String, Integer> NUMBERS = new HashMap<>();
    /** The clients before these: a task that runs may still read with one, while its keys last. */
    private static final HashMap<String, FileSystem> EARLIER = new HashMap<>();

    public void initialize(URI name, Configuration conf) throws IOException {
        fs = client(name, conf);
        super.initialize(name, conf);
    }

    /** The clients are shared, so that a reader can't close one. */
    public void close() {}

    private static FileSystem client(URI name, Configuration conf) throws IOException {
        String address = name.getScheme() + "://" + name.getAuthority();
        int number = conf.getInt(NUMBER + name.getAuthority(), 0);
        synchronized (CLIENTS) {
            FileSystem client = CLIENTS.get(address);
            // A task of an earlier statement may come late, with older keys.
            if (client != null && number <= NUMBERS.get(address)) {
                return client;
            }
            FileSystem made = newClient(conf);
            made.initialize(name, conf);
            CLIENTS.put(address, made);
            NUMBERS.put(address, number);
            FileSystem earlier = EARLIER.put(address, client);
            if (earlier != null) {
                earlier.close();
            }
            return made;
        }
    }
    private static FileSystem newClient(Configuration conf) throws IOException {
        try {
            return (FileSystem) ReflectionUtils.newInstance(conf.getClassByName(CLIENT), conf);
        } catch (ClassNotFoundException e) {
            throw new IOException(e);
        }
    }
}
