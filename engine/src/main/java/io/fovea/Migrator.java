package io.fovea;

import io.fovea.catalog.Migration;
import io.fovea.encoding.KeyText;
import io.fovea.error.InvalidUseException;
import io.fovea.index.TableCore;
import io.fovea.memory.Mem;
import io.fovea.schema.TableSpec;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.Objects;
import java.util.function.BiConsumer;
import java.util.function.Function;

/** Runs migrations: converts between the stored records of the engine and those of a mapper. */
final class Migrator {
  private Migrator() {}

  static <K, V, L, W> MigrateReport run(
      Database database,
      Table<K, V> from,
      TableSpec spec,
      Function<? super RowTable, ? extends Table<L, W>> view,
      Mapper<? super K, ? super V, ? super TableLoad<L, W>> mapper) {
    Objects.requireNonNull(mapper, "mapper");
    Coding<K, V> old = from.coding();
    return migrate(
        database,
        from.table(),
        spec,
        (core, sink, work) -> {
          Table<L, W> to = view.apply(new RowTable(database, core, spec));
          Coding<L, W> fresh = to.coding();
          to.<RuntimeException>feed(
              sink,
              into ->
                  work.accept(
                      records(
                          (key, value) -> {
                            K k = old.key(key);
                            mapper.map(k, old.value(k, value), into);
                          },
                          key -> text(old.key(key)),
                          key -> text(fresh.key(key)))));
        });
  }

  static MigrateReport run(
      Database database,
      RowTable from,
      TableSpec spec,
      Mapper<? super Key, ? super Row, ? super RowLoad> mapper) {
    Objects.requireNonNull(mapper, "mapper");
    Key oldKey = from.key();
    Row oldRow = from.row();
    return migrate(
        database,
        from,
        spec,
        (core, sink, work) -> {
          RowTable to = new RowTable(database, core, spec);
          RowLoad into = new RowLoad(to, sink);
          work.accept(
              records(
                  (key, value) -> {
                    Change.load(oldKey, key);
                    Change.load(from, oldRow, value);
                    mapper.map(oldKey, oldRow, into);
                  },
                  key -> text(from.core(), key),
                  key -> text(core, key)));
        });
  }

  private static MigrateReport migrate(
      Database database, RowTable from, TableSpec spec, Migration.Feed feed) {
    if (from.database() != database) {
      throw new InvalidUseException(
          "Table " + from.core().displayName() + " belongs to another database.");
    }
    return MigrateReport.of(database.schema().migrate(from.core(), spec, feed));
  }

  private static Migration.Records records(
      BiConsumer<byte[], byte[]> map,
      Function<byte[], String> oldKey,
      Function<byte[], String> newKey) {
    return new Migration.Records() {
      @Override
      public void map(byte[] key, byte[] value) {
        map.accept(key, value);
      }

      @Override
      public String oldKey(byte[] key) {
        return oldKey.apply(key);
      }

      @Override
      public String newKey(byte[] key) {
        return newKey.apply(key);
      }
    };
  }

  private static String text(Object key) {
    return key instanceof byte[] bytes ? Arrays.toString(bytes) : key.toString();
  }

  private static String text(TableCore table, byte[] key) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment s = Mem.copyOf(key, arena);
      return KeyText.of(table.key, s, 0, key.length);
    }
  }
}
