package io.fovea.tpcc.bench;

import java.lang.management.ManagementFactory;
import javax.management.Attribute;
import javax.management.InstanceNotFoundException;
import javax.management.JMException;
import javax.management.MBeanServer;
import javax.management.ObjectName;

/**
 * Sets the number of platform threads that carry virtual threads. The JDK has one scheduler per
 * process. Its parallelism is a system property, read when the first virtual thread is created;
 * from JDK 24 it is also an attribute of an MXBean that can change at any time.
 */
public final class Carriers {
  private static final String PROPERTY = "jdk.virtualThreadScheduler.parallelism";
  private static final String SCHEDULER = "jdk.management:type=VirtualThreadScheduler";
  private static final String PARALLELISM = "Parallelism";

  /** More would not help, and the scheduler has its own limit. */
  private static final int CARRIERS_MAX = 1_000;

  /** The property when the first virtual thread may have been created, or 0. */
  private static int settled;

  private Carriers() {}

  /**
   * Sets how many carriers virtual threads may use.
   *
   * @return false if the JDK has fixed another number or rejects this one
   */
  public static synchronized boolean limit(int carriers) {
    if (carriers > CARRIERS_MAX) {
      return false;
    }
    if (settled == 0) {
      System.setProperty(PROPERTY, Integer.toString(carriers));
      settled = carriers;
    }
    MBeanServer server = ManagementFactory.getPlatformMBeanServer();
    try {
      ObjectName scheduler = new ObjectName(SCHEDULER);
      if (!found(server, scheduler, carriers)) {
        server.setAttribute(scheduler, new Attribute(PARALLELISM, carriers));
      }
      return found(server, scheduler, carriers);
    } catch (InstanceNotFoundException e) {
      return settled == carriers; // before JDK 24: the property decides
    } catch (JMException | RuntimeException e) {
      return false;
    }
  }

  private static boolean found(MBeanServer server, ObjectName scheduler, int carriers)
      throws JMException {
    return server.getAttribute(scheduler, PARALLELISM) instanceof Integer n && n == carriers;
  }
}
