package paimark.source;

import java.lang.ref.WeakReference;
import java.net.InetAddress;
import java.security.SecureRandom;
import java.util.HexFormat;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.spark.sql.SparkSession;
import py4j.GatewayServer;

/** The door through which Python processes of Spark's reach this Java: who knows the secret may do anything here. */
public final class Door {
    static final String OPTION = "door";

    private static Door only;

    /** A visit ends when nobody here holds it any more. */
    private final Map<String, WeakReference<Visit>> visits = new ConcurrentHashMap<>();
    private final AtomicLong count = new AtomicLong();
    private final String secret;
    private final GatewayServer server;

    /** One read or write. */
    public static final class Visit {
        private final SparkSession session;
        private final String number;
        private final Map<String, String> asked;
        private volatile Object begun;

        private Visit(SparkSession session, String number, Map<String, String> asked) {
            this.session = session;
            this.number = number;
            this.asked = asked;
        }

        /** What Java asks of Python beside the options, which are a program's; null: nothing of that name. */
        public String asked(String name) {
            return asked.get(name);
        }

        public SparkSession session() {
            return session;
        }

        /** What Python made: a table to read, or the library's write. */
        public Object begun() {
            return begun;
        }

        public void begin(Object made) {
            begun = made;
        }
    }

    private Door() {
        byte[] random = new byte[32];
        new SecureRandom().nextBytes(random);
        secret = HexFormat.of().formatHex(random);
        server = new GatewayServer.GatewayServerBuilder(this)
                .javaPort(0)
                .javaAddress(InetAddress.getLoopbackAddress())
                .authToken(secret)
                .build();
        server.start(true);
    }

    public static synchronized Door open() {
        if (only == null) {
            only = new Door();
        }
        return only;
    }

    public Visit enter(SparkSession session, Map<String, String> asked) {
        Visit visit = new Visit(session, String.valueOf(count.incrementAndGet()), asked);
        visits.values().removeIf(each -> each.get() == null);
        visits.put(visit.number, new WeakReference<>(visit));
        return visit;
    }

    /** What a process needs to come in. */
    public String way(Visit visit) {
        return server.getListeningPort() + " " + secret + " " + visit.number;
    }

    public Visit visit(String number) {
        WeakReference<Visit> found = visits.get(number);
        return found == null ? null : found.get();
    }
}
