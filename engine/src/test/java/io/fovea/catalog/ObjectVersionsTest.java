package io.fovea.catalog;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.catalog.CatalogEntry.Extras;
import io.fovea.index.ObjectHistory;
import io.fovea.object.Shapes;
import io.fovea.schema.Shape;
import io.fovea.schema.Shape.Composite;
import java.io.IOException;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** The stored form of the shapes of a table, with and without older classes. */
class ObjectVersionsTest {
  /** As written before older classes could open a table: two versions of a table. */
  private static final String BEFORE =
      "00000005494e543634"
          + "02"
          + "000000127265636f7264286f776e6572205445585429"
          + "0000001f7265636f7264286f776e657220544558542c20636f756e7420494e54333229";

  private static final Composite A = shape("record(name TEXT, fax TEXT)");
  private static final Composite B =
      shape("record(title<name TEXT, mail TEXT, in list(record(x<y<z INT32)))");

  private static Composite shape(String text) {
    return (Composite) Shapes.parse(text);
  }

  private static ObjectHistory history() {
    return new ObjectHistory(Shape.Scalar.INT64, List.of(A)).next(B).withMerged(1);
  }

  private static byte[] section(ObjectHistory history, int number) {
    ExtensionFields fields = new ExtensionFields();
    new Extras(null, null, history).write(fields);
    return fields.get(number);
  }

  @Test
  void tablesWithoutOlderClassesAreStoredAsBefore() throws IOException {
    byte[] before = HexFormat.of().parseHex(BEFORE);
    ObjectHistory read = ObjectVersions.decode(before, null, null);
    assertEquals(2, read.floor());
    assertTrue(read.isPlain());
    assertEquals(BEFORE, HexFormat.of().formatHex(ObjectVersions.encode(read)));
    assertNull(section(read, ExtensionFields.OLDER_CLASSES));
    assertNull(
        section(
            new ObjectHistory(Shape.Scalar.INT64, List.of(A)).next(B).finished(),
            ExtensionFields.OLDER_CLASSES));
  }

  @Test
  void olderClassesAreStored() throws IOException {
    ObjectHistory history = history();
    assertEquals(
        "record(name TEXT, fax TEXT, mail TEXT, in list(record(x INT32)))",
        history.shape(3).toString());
    assertEquals(2, history.current());
    byte[] objects = section(history, ExtensionFields.OBJECTS);
    byte[] older = section(history, ExtensionFields.OLDER_CLASSES);
    ObjectHistory read = ObjectVersions.decode(objects, older, null);
    assertEquals(history, read);
    assertEquals(B.components().getFirst().formerly(), List.of("name"));
    assertEquals(Shapes.withEarlierNames(history.shape(2)), Shapes.withEarlierNames(read.shape(2)));
    assertFalse(read.finished().isPlain()); // there are merged objects
    assertEquals(
        read.finished(),
        ObjectVersions.decode(
            objects, section(read.finished(), ExtensionFields.OLDER_CLASSES), null));
  }

  @Test
  void vacantVersionsAreStored() throws IOException {
    ObjectHistory history = history().rewritten();
    assertEquals(Set.of(1, 3), history.vacant());
    assertEquals(2, history.floor());
    assertEquals(0, history.version(A)); // a class with its shape gets another version
    byte[] objects = section(history, ExtensionFields.OBJECTS);
    byte[] older = section(history, ExtensionFields.OLDER_CLASSES);
    byte[] vacant = section(history, ExtensionFields.VACANT);
    assertEquals(history, ObjectVersions.decode(objects, older, vacant));
    assertNull(section(history(), ExtensionFields.VACANT));
    // The merged version is needed again, but no vacant one is written.
    ObjectHistory next = history.next(A).next(B).withMerged(4);
    assertEquals(6, next.merged(4, 5));
    for (int version : new int[] {0, 2, 4}) { // 2 is that of the oldest class
      assertThrows(
          IllegalArgumentException.class,
          () -> ObjectVersions.decode(objects, older, new byte[] {(byte) version}));
    }
  }

  @Test
  void damagedBytesAreRefused() {
    byte[] objects = section(history(), ExtensionFields.OBJECTS);
    byte[] older = section(history(), ExtensionFields.OLDER_CLASSES);
    for (int length = 0; length < older.length; length++) {
      byte[] cut = Arrays.copyOf(older, length);
      assertThrows(Exception.class, () -> ObjectVersions.decode(objects, cut, null));
    }
    for (int at = 0; at < older.length; at++) {
      for (int bit = 0; bit < 8; bit++) {
        byte[] other = older.clone();
        other[at] ^= (byte) (1 << bit);
        try {
          ObjectHistory read = ObjectVersions.decode(objects, other, null);
          read.withMerged(1).entries(A, List.of("name"));
        } catch (IOException | IllegalArgumentException e) {
          continue; // refused
        }
      }
    }
  }
}
