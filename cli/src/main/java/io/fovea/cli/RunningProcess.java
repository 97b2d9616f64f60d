package io.fovea.cli;

import com.sun.tools.attach.AttachNotSupportedException;
import com.sun.tools.attach.VirtualMachine;
import java.io.IOException;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.SortedSet;
import java.util.TreeSet;
import javax.management.Attribute;
import javax.management.JMException;
import javax.management.MBeanAttributeInfo;
import javax.management.MBeanServerConnection;
import javax.management.ObjectName;
import javax.management.remote.JMXConnector;
import javax.management.remote.JMXConnectorFactory;
import javax.management.remote.JMXServiceURL;

/**
 * The databases that another process publishes by {@link io.fovea.DatabaseBean}. Connecting opens a
 * local JMX connector in that process, which stays open. Thread-safe.
 */
final class RunningProcess implements AutoCloseable {
  private static final String BEANS = "io.fovea:type=Database,*";

  private final JMXConnector connector;
  private final MBeanServerConnection server;

  private RunningProcess(JMXConnector connector) throws IOException {
    this.connector = connector;
    this.server = connector.getMBeanServerConnection();
  }

  /**
   * Connects to a process.
   *
   * @throws AttachNotSupportedException if it is no process of a JVM
   * @throws IOException if it can't be reached
   */
  static RunningProcess connect(String pid) throws AttachNotSupportedException, IOException {
    VirtualMachine vm = VirtualMachine.attach(pid);
    String address;
    try {
      address = vm.startLocalManagementAgent();
    } finally {
      vm.detach();
    }
    return new RunningProcess(JMXConnectorFactory.connect(new JMXServiceURL(address)));
  }

  /** The beans of its open databases. */
  SortedSet<ObjectName> databases() throws IOException, JMException {
    return new TreeSet<>(server.queryNames(new ObjectName(BEANS), null));
  }

  static String name(ObjectName bean) {
    return ObjectName.unquote(bean.getKeyProperty("name"));
  }

  /** All current figures of a database, its name first; empty if it was closed. */
  Map<String, Object> figures(ObjectName bean) throws IOException {
    Map<String, Object> all = new LinkedHashMap<>();
    try {
      MBeanAttributeInfo[] infos = server.getMBeanInfo(bean).getAttributes();
      String[] names = new String[infos.length];
      for (int i = 0; i < infos.length; i++) {
        names[i] = infos[i].getName();
      }
      for (Attribute a : server.getAttributes(bean, names).asList()) {
        if (all.isEmpty()) {
          all.put("database", name(bean));
        }
        all.put(a.getName(), a.getValue());
      }
    } catch (JMException e) {
      return Map.of();
    }
    return all;
  }

  @Override
  public void close() {
    try {
      connector.close();
    } catch (IOException e) {
      // The process has ended.
    }
  }
}
