package io.fovea;

import io.fovea.error.DatabaseClosedException;
import java.lang.management.ManagementFactory;
import java.lang.reflect.RecordComponent;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;
import javax.management.Attribute;
import javax.management.AttributeList;
import javax.management.AttributeNotFoundException;
import javax.management.DynamicMBean;
import javax.management.JMException;
import javax.management.MBeanAttributeInfo;
import javax.management.MBeanException;
import javax.management.MBeanInfo;
import javax.management.MBeanServer;
import javax.management.ObjectName;
import org.jspecify.annotations.Nullable;

/**
 * Publishes the statistics of a database as an MBean of the JVM, for JMX consoles, monitoring
 * agents and {@code fovea top}: {@code DatabaseBean.register(Database.open(file, options))}. Safe
 * for any thread.
 *
 * <p>The bean is named {@code io.fovea:type=Database,name="shop.fovea",id=...}, where the name is
 * the last element of {@link Database#name}. Its read-only attributes are the figures of {@link
 * DatabaseStats}, with dots in their names: {@code commits}, {@code log.bytes}, {@code
 * abortsByCause.VALIDATION}, {@code bodies.transfer.runs}. Reading them takes microseconds and does
 * not slow down transactions. Closing the database removes the bean.
 *
 * <p>Requires the module {@code java.management}. The first bean of a JVM starts its MBean server,
 * which takes a fraction of a second, so databases do not register themselves.
 *
 * @since 0.1.0
 */
public final class DatabaseBean {
  private static final String NAME = "io.fovea:type=Database";

  private DatabaseBean() {}

  /**
   * Registers a database until it is closed. A second call for the same database does nothing.
   *
   * @param database the database
   * @throws DatabaseClosedException if it is closed
   * @throws IllegalStateException if the MBean server rejects the bean
   */
  public static void register(Database database) {
    Objects.requireNonNull(database, "database");
    MBeanServer server = ManagementFactory.getPlatformMBeanServer();
    try {
      String path = database.name();
      String file = path.substring(path.lastIndexOf('/') + 1);
      ObjectName name =
          new ObjectName(NAME + ",name=" + ObjectName.quote(file) + ",id=" + database.id());
      Bean bean = new Bean(database);
      synchronized (DatabaseBean.class) {
        if (server.isRegistered(name)) {
          return;
        }
        server.registerMBean(bean, name);
      }
      boolean done = false;
      try {
        database.onClose(() -> remove(server, name));
        done = true;
      } finally {
        if (!done) {
          remove(server, name);
        }
      }
    } catch (JMException e) {
      throw new IllegalStateException(
          "The MBean of database " + database.name() + " can't be registered.", e);
    }
  }

  private static void remove(MBeanServer server, ObjectName name) {
    try {
      server.unregisterMBean(name);
    } catch (JMException e) {
      System.getLogger("io.fovea").log(System.Logger.Level.DEBUG, "Removing " + name, e);
    }
  }

  private static Map<String, Object> attributes(Record stats) {
    Map<String, Object> all = new LinkedHashMap<>();
    collect("", stats, all);
    return all;
  }

  private static void collect(String prefix, Record of, Map<String, Object> all) {
    for (RecordComponent c : of.getClass().getRecordComponents()) {
      Object value;
      try {
        value = c.getAccessor().invoke(of);
      } catch (ReflectiveOperationException e) {
        throw new IllegalStateException("Can't read " + c + ".", e);
      }
      String name = prefix + c.getName();
      put(name, value, all);
    }
  }

  private static void put(String name, Object value, Map<String, Object> all) {
    switch (value) {
      case Record r -> collect(name + '.', r, all);
      case Map<?, ?> m -> m.forEach((k, v) -> put(name + '.' + k, v, all));
      case Number n -> all.put(name, n.longValue());
      case Boolean b -> all.put(name, b);
      default -> all.put(name, String.valueOf(value));
    }
  }

  /** Reads the statistics on each request. */
  private static final class Bean implements DynamicMBean {
    private final Database database;
    private volatile MBeanInfo last;

    Bean(Database database) {
      this.database = database;
      this.last = info(attributes(database.stats()));
    }

    private static MBeanInfo info(Map<String, Object> figures) {
      return new MBeanInfo(
          Database.class.getName(),
          "Statistics of a database, see DatabaseStats",
          figures.entrySet().stream()
              .map(
                  e ->
                      new MBeanAttributeInfo(
                          e.getKey(),
                          e.getValue().getClass().getName(),
                          e.getKey(),
                          true,
                          false,
                          false))
              .toArray(MBeanAttributeInfo[]::new),
          null,
          null,
          null);
    }

    @Override
    public Object getAttribute(String name) throws AttributeNotFoundException, MBeanException {
      Object value = read().get(name);
      if (value == null) {
        throw new AttributeNotFoundException(name);
      }
      return value;
    }

    /** Takes all values from one reading. */
    @Override
    public AttributeList getAttributes(String[] names) {
      AttributeList list = new AttributeList();
      Map<String, Object> figures;
      try {
        figures = read();
      } catch (MBeanException e) {
        return list;
      }
      for (String name : names) {
        Object value = figures.get(name);
        if (value != null) {
          list.add(new Attribute(name, value));
        }
      }
      return list;
    }

    private Map<String, Object> read() throws MBeanException {
      try {
        return attributes(database.stats());
      } catch (DatabaseClosedException e) {
        // The receiver may not have the exception's class.
        throw new MBeanException(new IllegalStateException(e.getMessage()));
      }
    }

    @Override
    public void setAttribute(Attribute attribute) throws AttributeNotFoundException {
      throw new AttributeNotFoundException(attribute.getName() + " is read-only.");
    }

    @Override
    public AttributeList setAttributes(AttributeList attributes) {
      return new AttributeList();
    }

    @Override
    public @Nullable Object invoke(
        String action, Object @Nullable [] parameters, String @Nullable [] signature) {
      throw new UnsupportedOperationException("There is no operation " + action + ".");
    }

    @Override
    public MBeanInfo getMBeanInfo() {
      try {
        last = info(attributes(database.stats())); // each name of a body adds attributes
      } catch (DatabaseClosedException e) {
        // the last known ones
      }
      return last;
    }
  }
}
