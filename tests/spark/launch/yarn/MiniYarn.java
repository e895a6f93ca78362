import java.io.File;
import java.io.FileOutputStream;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.server.MiniYARNCluster;

/** A ResourceManager and a NodeManager; writes yarn-site.xml to the directory given, and ends with a process. */
public class MiniYarn {
    public static void main(String[] arguments) throws Exception {
        File directory = new File(arguments[0]);
        YarnConfiguration configuration = new YarnConfiguration();
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
        MiniYARNCluster cluster = new MiniYARNCluster("paimark", 1, 1, 1);
        cluster.init(configuration);
        cluster.start();
        cluster.waitForNodeManagersToConnect(60000);
        try (FileOutputStream out = new FileOutputStream(new File(directory, "yarn-site.xml"))) {
            cluster.getConfig().writeXml(out);
        }
        System.out.println("ready");
        ProcessHandle.of(Long.parseLong(arguments[1])).ifPresent(each -> each.onExit().join());
        Runtime.getRuntime().halt(0);
    }
}
