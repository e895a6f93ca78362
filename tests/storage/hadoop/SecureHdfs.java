import java.io.File;
import java.io.FileWriter;
import java.io.PrintWriter;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.URI;
import java.security.PrivilegedExceptionAction;
import java.util.LinkedHashMap;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.permission.FsPermission;
import org.apache.hadoop.hdfs.MiniDFSCluster;
import org.apache.hadoop.hdfs.MiniDFSNNTopology;
import org.apache.hadoop.hdfs.security.token.delegation.DelegationTokenSecretManager;
import org.apache.hadoop.hdfs.server.namenode.HdfsAuditLogger;
import org.apache.hadoop.ipc.CallerContext;
import org.apache.hadoop.security.Credentials;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.kerby.KOptions;
import org.apache.kerby.kerberos.kerb.client.KrbClient;
import org.apache.kerby.kerberos.kerb.client.KrbOption;
import org.apache.kerby.kerberos.kerb.server.SimpleKdcServer;
import org.apache.kerby.kerberos.kerb.type.KerberosTime;
import org.apache.kerby.kerberos.kerb.type.ticket.TgtTicket;

/**
 * HDFS that takes Kerberos tickets alone, with its KDC: the name service `lake` of an active and a standby NameNode. In
 * the directory given there are then krb5.conf, conf/ for clients, keytabs, ticket caches, and audit.log; says the ports of
 * the two NameNodes, and ends with a process.
 */
public class SecureHdfs {
    static final String REALM = "LAKE.TEST";

    public static void main(String[] arguments) {
        try {
            run(arguments);
        } catch (Exception error) {
            error.printStackTrace();
        }
        // Nobody needs what is in it.
        Runtime.getRuntime().halt(0);
    }

    static void run(String[] arguments) throws Exception {
        File directory = new File(arguments[0]).getAbsoluteFile();
        SimpleKdcServer kdc = startKdc(directory);
        File keytab = new File(directory, "hdfs.keytab");
        kdc.createAndExportPrincipals(keytab, "hdfs/localhost", "HTTP/localhost");
        // For the YARN of tests.spark.launch.yarn.
        kdc.createAndExportPrincipals(new File(directory, "yarn.keytab"), "yarn/localhost");
        File alices = new File(directory, "alice.keytab"), bobs = new File(directory, "bob.keytab");
        kdc.createAndExportPrincipals(alices, "alice");
        kdc.createAndExportPrincipals(bobs, "bob");
        ticket(kdc, "alice", alices, "alice.cache", false);
        ticket(kdc, "alice", alices, "expired.cache", true);
        ticket(kdc, "bob", bobs, "bob.cache", false);

        Audit.out = new PrintWriter(new FileWriter(new File(directory, "audit.log")), true);
        MiniDFSCluster cluster = startCluster(directory, keytab);
        int active = cluster.getNameNodePort(0), standby = cluster.getNameNodePort(1);
        FileSystem files = cluster.getFileSystem(0);
        Path lake = new Path("/lake"), closed = new Path("/lake/closed.db/secret");
        files.mkdirs(lake);
        files.setOwner(lake, "alice", "alice");
        // Where Spark on YARN puts the files that it sends to containers.
        Path home = new Path("/user/alice");
        files.mkdirs(home);
        files.setOwner(home, "alice", "alice");
        files.mkdirs(closed);
        files.setPermission(closed, new FsPermission("700"));
        writeSites(directory, active, standby);
        writeTokens(directory, alices);
        System.out.println(active + " " + standby);
        ProcessHandle.of(Long.parseLong(arguments[1])).ifPresent(each -> each.onExit().join());
    }

    static SimpleKdcServer startKdc(File directory) throws Exception {
        int port;
        try (ServerSocket probe = new ServerSocket(0)) {
            port = probe.getLocalPort();
        }
        File own = new File(directory, "kdc");
        own.mkdirs();
        SimpleKdcServer kdc = new SimpleKdcServer();
        kdc.setWorkDir(own);
        kdc.setKdcHost("localhost");
        kdc.setKdcRealm(REALM);
        kdc.setKdcTcpPort(port);
        kdc.setAllowUdp(false);
        kdc.init();
        kdc.start();
        File configuration = new File(directory, "krb5.conf");
        try (PrintWriter out = new PrintWriter(new FileWriter(configuration))) {
            out.println("[libdefaults]\n default_realm = " + REALM + "\n udp_preference_limit = 1\n rdns = false");
            out.println(" dns_lookup_kdc = false\n dns_lookup_realm = false\n dns_canonicalize_hostname = false");
            out.println("[realms]\n " + REALM + " = {\n  kdc = localhost:" + port + "\n }");
            out.println("[domain_realm]\n localhost = " + REALM);
        }
        System.setProperty("java.security.krb5.conf", configuration.getPath());
        return kdc;
    }

    static void ticket(SimpleKdcServer kdc, String principal, File keytab, String cache, boolean isExpired) throws Exception {
        KrbClient client = kdc.getKrbClient();
        KOptions options = new KOptions();
        options.add(KrbOption.CLIENT_PRINCIPAL, principal + "@" + REALM);
        options.add(KrbOption.USE_KEYTAB, true);
        options.add(KrbOption.KEYTAB_FILE, keytab);
        TgtTicket ticket = client.requestTgt(options);
        if (isExpired) {
            ticket.getEncKdcRepPart().setEndTime(new KerberosTime(System.currentTimeMillis() - 3600_000));
        }
        client.storeTicket(ticket, new File(keytab.getParentFile(), cache));
    }

    static MiniDFSCluster startCluster(File directory, File keytab) throws Exception {
        Configuration configuration = new Configuration();
        configuration.set(MiniDFSCluster.HDFS_MINIDFS_BASEDIR, new File(directory, "data").getPath());
        configuration.set("hadoop.security.authentication", "kerberos");
        configuration.set("hadoop.security.authorization", "true");
        configuration.set("dfs.data.transfer.protection", "authentication");
        configuration.set("dfs.block.access.token.enable", "true");
        configuration.set("ignore.secure.ports.for.testing", "true");
        for (String part : new String[] {"namenode", "datanode"}) {
            configuration.set("dfs." + part + ".keytab.file", keytab.getPath());
            configuration.set("dfs." + part + ".kerberos.principal", "hdfs/localhost@" + REALM);
        }
        configuration.set("dfs.web.authentication.kerberos.principal", "HTTP/localhost@" + REALM);
        configuration.set("dfs.web.authentication.kerberos.keytab", keytab.getPath());
        configuration.setInt("dfs.namenode.file.close.num-committed-allowed", 1);
        configuration.set("dfs.namenode.audit.loggers", Audit.class.getName());
        configuration.set("hadoop.caller.context.enabled", "true");
        UserGroupInformation.setConfiguration(configuration);
        MiniDFSNNTopology topology = MiniDFSNNTopology.simpleHATopology();
        MiniDFSCluster cluster = new MiniDFSCluster.Builder(configuration).nnTopology(topology).numDataNodes(1).build();
        cluster.transitionToActive(0);
        cluster.waitActive();
        return cluster;
    }

    /** What an administrator hands out. The standby NameNode comes first, so that clients have to ask the other. */
    static void writeSites(File directory, int active, int standby) throws Exception {
        Map<String, String> settings = new LinkedHashMap<>();
        settings.put("fs.defaultFS", "hdfs://lake");
        settings.put("hadoop.security.authentication", "kerberos");
        settings.put("dfs.data.transfer.protection", "authentication");
        settings.put("dfs.namenode.kerberos.principal", "hdfs/localhost@" + REALM);
        // Spark then says in each request which task makes it.
        settings.put("hadoop.caller.context.enabled", "true");
        settings.put("dfs.nameservices", "lake");
        settings.put("dfs.ha.namenodes.lake", "nn2,nn1");
        settings.put("dfs.namenode.rpc-address.lake.nn1", "localhost:" + active);
        settings.put("dfs.namenode.rpc-address.lake.nn2", "localhost:" + standby);
        settings.put(
            "dfs.client.failover.proxy.provider.lake",
            "org.apache.hadoop.hdfs.server.namenode.ha.ConfiguredFailoverProxyProvider");
        File conf = new File(directory, "conf");
        conf.mkdirs();
        try (PrintWriter out = new PrintWriter(new FileWriter(new File(conf, "core-site.xml")))) {
            out.println("<configuration>");
            settings.forEach((name, value) -> out.println(
                "<property><name>" + name + "</name><value>" + value + "</value></property>"));
            out.println("</configuration>");
        }
    }

    /** What YARN gives a container of alice's. */
    static void writeTokens(File directory, File keytab) throws Exception {
        Configuration configuration = new Configuration();
        configuration.addResource(new Path(new File(directory, "conf/core-site.xml").toURI()));
        UserGroupInformation alice =
            UserGroupInformation.loginUserFromKeytabAndReturnUGI("alice@" + REALM, keytab.getPath());
        Credentials tokens = new Credentials();
        alice.doAs((PrivilegedExceptionAction<Object>) () ->
            FileSystem.newInstance(URI.create("hdfs://lake"), configuration).addDelegationTokens("yarn", tokens));
        tokens.writeTokenStorageFile(new Path(new File(directory, "alice.tokens").toURI()), configuration);
    }

    /** Writes a line for each successful request to audit.log: how the user was authenticated, the command, path and caller. */
    public static class Audit extends HdfsAuditLogger {
        static PrintWriter out;

        @Override
        public void initialize(Configuration configuration) {}

        @Override
        public void logAuditEvent(
                boolean succeeded, String user, InetAddress address, String command, String source, String target,
                FileStatus status, CallerContext caller, UserGroupInformation group, DelegationTokenSecretManager tokens) {
            String context = caller == null ? "" : caller.getContext();
            synchronized (Audit.class) {
                if (succeeded) {
                    out.println(user + "\t" + command + "\t" + source + "\t" + context);
                }
            }
        }

        @Override
        public void logAuditEvent(
                boolean succeeded, String user, InetAddress address, String command, String source, String target,
                FileStatus status, UserGroupInformation group, DelegationTokenSecretManager tokens) {
            logAuditEvent(succeeded, user, address, command, source, target, status, null, group, tokens);
        }
    }
}
