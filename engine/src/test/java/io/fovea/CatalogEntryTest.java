package io.fovea;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;

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
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import org.junit.jupiter.api.Test;

/** What the catalog keeps comes back, and bytes that make no sense are corruption, nothing else. */
class CatalogEntryTest {
  private static CatalogEntry random(long seed) {
    Random r = new Random(seed);
    KeySpec.Builder k = KeySpec.builder();
    int parts = 1 + r.nextInt(5);
    for (int i = 0; i < parts; i++) {
      FieldType t = FieldType.values()[r.nextInt(4)];
      k.add("k" + i, t, t == FieldType.INT32 ? 4 : t == FieldType.INT64 ? 8 : 1 + r.nextInt(99));
    }
    KeySpec key = k.build();
    if (r.nextInt(4) == 0) {
      return new CatalogEntry("t", r.nextInt(), r.nextLong(), KeySpec.ofBytes(9), null, List.of());
    }
    Layout.Builder l = Layout.builder();
    int fields = r.nextInt(9);
    for (int i = 0; i < fields; i++) {
      FieldType t = FieldType.values()[r.nextInt(4)];
      l.add("f" + i, t, t == FieldType.INT32 ? 4 : t == FieldType.INT64 ? 8 : 1 + r.nextInt(999));
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
    return new CatalogEntry("t", r.nextInt(), r.nextLong(), key, layout, indexes);
  }

  @Property
  void roundTrip(@ForAll long seed) {
    CatalogEntry e = random(seed);
    assertEquals(e, CatalogEntry.decode("t", e.encode()));
  }

  @Property
  void damageIsCorruption(@ForAll long seed, @ForAll int at, @ForAll byte xor) {
    byte[] bytes = random(seed).encode();
    bytes[Math.floorMod(at, bytes.length)] ^= xor;
    try {
      CatalogEntry.decode("t", bytes);
    } catch (CorruptionException | IncompatibleFormatException e) {
      assertNotNull(e.getMessage());
    }
    byte[] cut = Arrays.copyOf(bytes, Math.floorMod(at, bytes.length));
    try {
      CatalogEntry.decode("t", cut);
    } catch (CorruptionException | IncompatibleFormatException e) {
      assertNotNull(e.getMessage());
    }
  }

  @Test
  void differencesAreTold() {
    Layout.Builder l = Layout.builder();
    Field x = l.int32("x");
    Layout layout = l.build();
    KeySpec key = KeySpec.of(FieldType.INT32);
    CatalogEntry e = new CatalogEntry("t", 2, 3, key, layout, List.of());
    assertNull(e.difference(TableSpec.of("t", KeySpec.of(FieldType.INT32), layout)));
    assertNotNull(e.difference(TableSpec.of("t", KeySpec.of(FieldType.INT64), layout)));
    assertNotNull(e.difference(TableSpec.of("t", key, Layout.builder().build())));
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
    assertThrows(IllegalArgumentException.class, () -> TableSpec.bytes("no such/name", 9));
  }
}
