package io.fovea;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.error.DatabaseClosedException;
import io.fovea.schema.TableSpec;
import java.lang.management.ManagementFactory;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import javax.management.AttributeNotFoundException;
import javax.management.MBeanAttributeInfo;
import javax.management.MBeanServer;
import javax.management.ObjectName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A database's statistics in JMX. */
class DatabaseBeanTest {
  private static final MBeanServer SERVER = ManagementFactory.getPlatformMBeanServer();

  @TempDir Path dir;

  private static Set<ObjectName> beans(Database db) throws Exception {
    return SERVER.queryNames(new ObjectName("io.fovea:type=Database,id=" + db.id() + ",*"), null);
  }

  @Test
  void statisticsAreAttributes() throws Exception {
    Database db = Database.open(dir.resolve("a,b=c.fovea"), Options.defaults());
    try (db) {
      DatabaseBean.register(db);
      DatabaseBean.register(db);
      assertEquals(1, beans(db).size());
      ObjectName name = beans(db).iterator().next();
      assertEquals("a,b=c.fovea", ObjectName.unquote(name.getKeyProperty("name")));
      long before = (long) SERVER.getAttribute(name, "commits");
      Table<byte[], byte[]> t = db.table(TableSpec.bytes("t", 10)).bytes();
      db.run(tx -> t.put(tx, new byte[] {1}, new byte[] {2}));
      assertTrue((long) SERVER.getAttribute(name, "commits") > before);
      assertTrue((long) SERVER.getAttribute(name, "log.bytes") > 0);
      assertEquals(0L, SERVER.getAttribute(name, "abortsByCause.VALIDATION"));
      assertEquals("OK", SERVER.getAttribute(name, "health"));
      db.run("move stock", tx -> t.put(tx, new byte[] {1}, new byte[] {2}));
      assertEquals(1L, SERVER.getAttribute(name, "bodies.move stock.runs"));
      assertEquals(0L, SERVER.getAttribute(name, "bodies.move stock.abortsByCause.LOCK"));
      MBeanAttributeInfo[] all = SERVER.getMBeanInfo(name).getAttributes();
      String[] names = new String[all.length];
      for (int i = 0; i < all.length; i++) {
        names[i] = all[i].getName();
        assertFalse(all[i].isWritable());
      }
      assertTrue(List.of(names).contains("bodies.move stock.maxNanos"));
      assertEquals(all.length, SERVER.getAttributes(name, names).size());
      assertThrows(
          AttributeNotFoundException.class, () -> SERVER.getAttribute(name, "no such figure"));
    }
    assertEquals(Set.of(), beans(db));
    assertThrows(DatabaseClosedException.class, () -> DatabaseBean.register(db));
    assertEquals(Set.of(), beans(db));
  }
}
