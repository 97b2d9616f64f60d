package io.fovea.tpcc.bench;

import java.lang.management.ManagementFactory;
import javax.management.Attribute;
import javax.management.InstanceNotFoundException;
import javax.management.JMException;
import javax.management.MBeanServer;
import javax.management.ObjectName;

/**
 * The platform threads that carry the virtual ones. The JDK has one scheduler of virtual threads a
 * process; how many carriers it has is a system property that it reads when the first virtual
 * thread is made, and from JDK 24 on an attribute of an MXBean that can be changed at any time.
 */
public final class Carriers {
  private static final String PROPERTY = "jdk.virtualThreadScheduler.parallelism";
  private static final String SCHEDULER = "jdk.management:type=VirtualThreadScheduler";
  private static final String PARALLELISM = "Parallelism";

  /** More are of no use, and the scheduler has a limit of its own. */
  private static final int CARRIERS_MAX = 1_000;

  /** What the property had when the first virtual thread may have been made, or 0. */
  private static int settled;

  private Carriers() {}

  /**
   * Sets how many processors virtual threads may use together.
   *
   * @return whether that is so now; false where the JDK has settled for another number or takes
   *     none that large
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
      return settled == carriers; // a JDK before 24: the property decides
    } catch (JMException | RuntimeException e) {
      return false;
    }
  }

  private static boolean found(MBeanServer server, ObjectName scheduler, int carriers)
      throws JMException {
    return server.getAttribute(scheduler, PARALLELISM) instanceof Integer n && n == carriers;
  }
}
