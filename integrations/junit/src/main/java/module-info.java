/** Databases for JUnit Jupiter tests. */
module io.fovea.junit {
  requires transitive io.fovea.engine;
  requires transitive org.junit.jupiter.api;
  requires static org.jspecify;

  exports io.fovea.junit;
}
