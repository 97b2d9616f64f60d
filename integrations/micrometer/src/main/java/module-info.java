/** Meters of a Fovea database in a Micrometer registry. */
module io.fovea.micrometer {
  requires transitive io.fovea.engine;
  requires transitive micrometer.core;
  requires static org.jspecify;

  exports io.fovea.micrometer;
}
