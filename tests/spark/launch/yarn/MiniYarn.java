import java.io.File;
import java.io.FileOutputStream;
import java.nio.file.Files;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.server.MiniYARNCluster;

/**
 * A ResourceManager and a NodeManager; writes the files of HADOOP_CONF_DIR to the directory given, and ends with a process. If
 * the property `secure` names the directory of a `SecureHdfs`, they accept only tickets of its KDC.
 */
public class MiniYarn {
    public static void main(String[] arguments) {
        try {
            run(new File(arguments[0]), Long.parseLong(arguments[1]));
        } catch (Throwable error) {
            error.printStackTrace();
        }
        Runtime.getRuntime().halt(0);
    }

    static void run(File directory, long until) throws Exception {
        String secure = System.getProperty("secure");
        if (secure != null) {
            File site = new File(secure, "conf/core-site.xml");
            // What fetches files for containers reads only the class path, and has to know the name service.
            Files.copy(site.toPath(), new File(directory, "classes/core-site.xml").toPath());
            Files.copy(site.toPath(), new File(directory, "core-site.xml").toPath());
        }
        YarnConfiguration configuration = new YarnConfiguration();
        configure(configuration, directory);
        if (secure != null) {
            takeTicketsOnly(configuration, new File(secure), directory);
        }
        MiniYARNCluster cluster = new MiniYARNCluster("paimark", 1, 1, 1);
        cluster.init(configuration);
        cluster.start();
        cluster.waitForNodeManagersToConnect(60000);
        try (FileOutputStream out = new FileOutputStream(new File(directory, "yarn-site.xml"))) {
            cluster.getConfig().writeXml(out);
        }
        System.out.println("ready");
        ProcessHandle.of(until).ifPresent(each -> each.onExit().join());
    }

    static void configure(YarnConfiguration configuration, File directory) {
        configuration.set("yarn.log.dir", new File(directory, "logs").getAbsolutePath());
        configuration.setInt("yarn.nodemanager.resource.memory-mb", 6144);
        configuration.setInt("yarn.nodemanager.resource.cpu-vcores", 4);
        configuration.setInt("yarn.scheduler.minimum-allocation-mb", 128);
        configuration.setBoolean("yarn.nodemanager.vmem-check-enabled", false);
        configuration.setBoolean("yarn.nodemanager.pmem-check-enabled", false);
        // Else a disk that is nearly full leaves no node.
        configuration.setBoolean("yarn.nodemanager.disk-health-checker.enable", false);
        configuration.set("yarn.scheduler.capacity.maximum-am-resource-percent", "1.0");
        configuration.set("yarn.scheduler.capacity.root.queues", "default");
        configuration.set("yarn.scheduler.capacity.root.capacity", "100");
        configuration.set("yarn.scheduler.capacity.root.default.capacity", "100");
    }

    static void takeTicketsOnly(YarnConfiguration configuration, File secure, File directory) throws Exception {
        String principal = "yarn/localhost@LAKE.TEST", keytab = new File(secure, "yarn.keytab").getPath();
        for (String part : new String[] {"resourcemanager", "nodemanager"}) {
            configuration.set("yarn." + part + ".principal", principal);
            configuration.set("yarn." + part + ".keytab", keytab);
            configuration.set("yarn." + part + ".webapp.spnego-principal", "HTTP/localhost@LAKE.TEST");
            configuration.set("yarn." + part + ".webapp.spnego-keytab-file", new File(secure, "hdfs.keytab").getPath());
        }
        // These would be in HDFS, which is the default file system here.
        for (String part : new String[] {"node-attribute", "node-labels"}) {
            configuration.set("yarn." + part + ".fs-store.root-dir", new File(directory, part).toURI().toString());
        }
        UserGroupInformation.setConfiguration(configuration);
        // The mini-cluster's servers do not log in themselves.
        UserGroupInformation.loginUserFromKeytab(principal, keytab);
    }
}
