package io.fovea;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.catalog.CatalogEntry;
import io.fovea.error.CorruptionException;
import io.fovea.error.IncompatibleFormatException;
import io.fovea.schema.EntryHints;
import io.fovea.schema.Field;
import io.fovea.schema.FieldType;
import io.fovea.schema.IndexSpec;
import io.fovea.schema.KeySpec;
import io.fovea.schema.Layout;
import io.fovea.schema.TableSpec;
import io.fovea.support.FieldValues;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import org.junit.jupiter.api.Test;

/** Catalog entries survive a round trip, and invalid bytes are reported as corruption only. */
class CatalogEntryTest {
  private static final CatalogEntry.Extras NONE = CatalogEntry.Extras.NONE;

  private static CatalogEntry random(long seed) {
    Random r = new Random(seed);
    String name = r.nextInt(3) == 0 ? "ÿ".repeat(100 + r.nextInt(155)) : "t";
    KeySpec.Definition k = KeySpec.define();
    int parts = 1 + r.nextInt(5);
    for (int i = 0; i < parts; i++) {
      FieldValues.plain(r, 99).addTo(k, "k" + i);
    }
    KeySpec key = k.build();
    if (r.nextInt(4) == 0) {
      List<CatalogEntry.IndexEntry> some = new ArrayList<>();
      for (int i = r.nextInt(3); i > 0; i--) {
        KeySpec by = KeySpec.of(FieldType.INT64, FieldType.INT32);
        some.add(
            new CatalogEntry.IndexEntry(
                "index" + i, r.nextBoolean(), i, 7 * i, by, List.of(), EntryHints.PAGE));
      }
      return new CatalogEntry(
          name, r.nextInt(), r.nextLong(), KeySpec.ofBytes(9), null, some, NONE);
    }
    Layout.Definition l = Layout.define();
    int fields = r.nextInt(9);
    for (int i = 0; i < fields; i++) {
      FieldValues.any(r, 999).addTo(l, "f" + i);
    }
    Layout layout = l.build();
    List<CatalogEntry.IndexEntry> indexes = new ArrayList<>();
    for (int i = r.nextInt(4); i > 0; i--) {
      List<Field> all = new ArrayList<>(key.parts());
      all.addAll(layout.fields());
      java.util.Collections.shuffle(all, r);
      boolean extracted = r.nextBoolean();
      indexes.add(
          new CatalogEntry.IndexEntry(
              "index" + i,
              r.nextBoolean(),
              r.nextInt(),
              r.nextLong(),
              extracted ? KeySpec.of(FieldType.INT64) : null,
              extracted ? List.of() : List.copyOf(all.subList(0, 1 + r.nextInt(all.size()))),
              EntryHints.values()[r.nextInt(EntryHints.values().length)]));
    }
    return new CatalogEntry(name, r.nextInt(), r.nextLong(), key, layout, indexes, NONE);
  }

  @Property
  void roundTrip(@ForAll long seed) {
    CatalogEntry e = random(seed);
    assertEquals(e, CatalogEntry.decode(e.catalogKey(), e.encode()));
  }

  @Property
  void damageIsCorruption(@ForAll long seed, @ForAll int at, @ForAll byte xor) {
    CatalogEntry e = random(seed);
    byte[] key = e.catalogKey();
    byte[] bytes = e.encode();
    bytes[Math.floorMod(at, bytes.length)] ^= xor;
    try {
      CatalogEntry.decode(key, bytes);
    } catch (CorruptionException | IncompatibleFormatException refused) {
      assertNotNull(refused.getMessage());
    }
    byte[] cut = Arrays.copyOf(bytes, Math.floorMod(at, bytes.length));
    try {
      CatalogEntry.decode(key, cut);
    } catch (CorruptionException | IncompatibleFormatException refused) {
      assertNotNull(refused.getMessage());
    }
  }

  /** Tables of byte strings have no fields to index. */
  @Test
  void anIndexByFieldsOfByteStringsIsDamage() {
    KeySpec key = KeySpec.ofBytes(9);
    CatalogEntry.IndexEntry index =
        new CatalogEntry.IndexEntry("i", false, 3, 4, null, key.parts(), EntryHints.NONE);
    CatalogEntry e = new CatalogEntry("t", 1, 2, key, null, List.of(index), NONE);
    assertThrows(CorruptionException.class, () -> CatalogEntry.decode(e.catalogKey(), e.encode()));
  }

  /** A key in a page of 4 KiB has at most 512 bytes; a name of 255 characters takes up to 765. */
  @Test
  void keysOfLongNamesAreShort() {
    for (String name : List.of("t", "x".repeat(255), "ÿ".repeat(127), "漢".repeat(255))) {
      CatalogEntry e = new CatalogEntry(name, 2, 3, KeySpec.ofBytes(9), null, List.of(), NONE);
      assertTrue(e.catalogKey().length <= 256, name);
      assertEquals(e, CatalogEntry.decode(e.catalogKey(), e.encode()));
      CatalogEntry other =
          new CatalogEntry(name + "!", 2, 3, KeySpec.ofBytes(9), null, List.of(), NONE);
      assertFalse(Arrays.equals(e.catalogKey(), other.catalogKey()));
    }
  }

  @Test
  void unknownSectionsAreRefused() {
    CatalogEntry e =
        new CatalogEntry("漢".repeat(255), 2, 3, KeySpec.ofBytes(9), null, List.of(), NONE);
    byte[] bytes = e.encode();
    byte[] more = Arrays.copyOf(bytes, bytes.length + 5);
    more[bytes.length] = (byte) 255;
    IncompatibleFormatException refused =
        assertThrows(
            IncompatibleFormatException.class, () -> CatalogEntry.decode(e.catalogKey(), more));
    assertTrue(refused.getMessage().contains("newer version"), refused::getMessage);
    more[bytes.length] = 1; // duplicates the name
    assertThrows(CorruptionException.class, () -> CatalogEntry.decode(e.catalogKey(), more));
  }

  /** Older versions of Fovea read the entries they know and report others as newer. */
  @Test
  void onlyEntriesWithNewTypesHaveTheNewVersion() {
    Layout.Definition l = Layout.define();
    l.int32("x");
    l.text("y", 5);
    KeySpec key = KeySpec.of(FieldType.INT64);
    assertEquals(1, new CatalogEntry("t", 2, 3, key, l.build(), List.of(), NONE).encode()[0]);
    l.nullable().decimal("z", 10, 3);
    byte[] bytes = new CatalogEntry("t", 2, 3, key, l.build(), List.of(), NONE).encode();
    assertEquals(4, bytes[0]);
    // name · 128 + 9 · 256 * precision + scale, no index, no section
    byte[] end = Arrays.copyOfRange(bytes, bytes.length - 10, bytes.length);
    assertArrayEquals(new byte[] {0, 1, 'z', (byte) 0x89, 0, 0, 10, 3, 0, 0}, end);
    assertEquals(
        4,
        new CatalogEntry("t", 2, 3, KeySpec.of(FieldType.UUID), null, List.of(), NONE).encode()[0]);
    KeySpec.Definition k = KeySpec.define();
    k.nullable().int32("n");
    CatalogEntry.IndexEntry i =
        new CatalogEntry.IndexEntry("i", false, 4, 5, k.build(), List.of(), EntryHints.NONE);
    Layout none = Layout.define().build();
    assertEquals(4, new CatalogEntry("t", 2, 3, key, none, List.of(i), NONE).encode()[0]);
  }

  @Test
  void differencesAreDescribed() {
    Layout.Definition l = Layout.define();
    Field x = l.int32("x");
    Layout layout = l.build();
    KeySpec key = KeySpec.of(FieldType.INT32);
    CatalogEntry e = new CatalogEntry("t", 2, 3, key, layout, List.of(), NONE);
    assertNull(e.difference(TableSpec.of("t", KeySpec.of(FieldType.INT32), layout)));
    assertNotNull(e.difference(TableSpec.of("t", KeySpec.of(FieldType.INT64), layout)));
    assertNotNull(e.difference(TableSpec.of("t", key, Layout.define().build())));
    assertNotNull(e.difference(TableSpec.bytes("t", 9)));
    CatalogEntry.IndexEntry i =
        new CatalogEntry.IndexEntry("i", false, 4, 5, null, List.of(x), EntryHints.NONE);
    assertNull(i.difference(IndexSpec.on("i", x)));
    assertNotNull(i.difference(IndexSpec.unique("i", x)));
    assertNotNull(i.difference(IndexSpec.on("i", key.part("k0"))));
    assertNotNull(i.difference(IndexSpec.extracted("i", key, false, (k, r, o) -> false)));
    assertThrows(IllegalArgumentException.class, () -> IndexSpec.on("i", x, x));
    assertThrows(IllegalArgumentException.class, () -> IndexSpec.on("i"));
    assertThrows(
        IllegalArgumentException.class, () -> TableSpec.bytes("t", 9).with(IndexSpec.on("i", x)));
    assertThrows(IllegalArgumentException.class, () -> TableSpec.bytes("x".repeat(256), 9));
  }
}
