package io.fovea.catalog;

import io.fovea.index.IndexCore;
import io.fovea.index.ObjectHistory;
import io.fovea.index.RecordExpiry;
import io.fovea.index.TableCore;
import io.fovea.object.ObjectEntries;
import io.fovea.schema.Expiry;
import io.fovea.schema.Field;
import io.fovea.schema.IndexSpec;
import io.fovea.schema.KeySpec;
import io.fovea.schema.Layout;
import io.fovea.schema.TableSpec;

/** Builds specifications of existing tables from what the file contains. */
public final class Description {
  private Description() {}

  /** Returns a specification that can open the table. */
  public static TableSpec of(TableCore core) {
    Layout layout = core.layout;
    if (layout == null) {
      ObjectHistory objects = core.objects();
      int maxBytes = core.key.maxBytes();
      TableSpec spec =
          objects == null
              ? TableSpec.bytes(core.name, maxBytes)
              : TableSpec.objects(core.name, maxBytes, objects.shapes());
      RecordExpiry by = core.expiry();
      Expiry expiry = by == null ? null : by.spec();
      for (IndexCore i : core.readable()) {
        spec =
            expiry instanceof Expiry.OfBytes bytes && RecordExpiry.isExpiryIndex(i)
                ? spec.expireAfter(bytes.offset(), bytes.after())
                : spec.with(of(CatalogEntry.IndexEntry.of(i)));
      }
      return expiry instanceof Expiry.OfObjects own
          ? spec.expireAfter(own.component(), own.after())
          : spec;
    }
    TableSpec.Builder spec = TableSpec.builder(core.name, core.key, layout);
    int version = core.history().version();
    if (version > 1) {
      spec.version(version); // the steps to it are no longer known
    }
    for (IndexCore i : core.readable()) {
      spec.index(of(CatalogEntry.IndexEntry.of(i)));
    }
    RecordExpiry by = core.expiry();
    return by != null && by.spec() instanceof Expiry.OfRows rows
        ? spec.build().expireAfter(rows.field(), rows.after())
        : spec.build();
  }

  private static IndexSpec of(CatalogEntry.IndexEntry i) {
    ObjectEntries objects = i.objects();
    if (objects != null) {
      return IndexSpec.described(i.name(), i.unique(), objects.paths()).hints(i.hints());
    }
    KeySpec extracted = i.extractedKey();
    Field[] fields = i.fields().toArray(Field[]::new);
    IndexSpec spec =
        extracted != null
            ? IndexSpec.described(i.name(), extracted, i.unique())
            : i.unique() ? IndexSpec.unique(i.name(), fields) : IndexSpec.on(i.name(), fields);
    return spec.hints(i.hints());
  }
}
