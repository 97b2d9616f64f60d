package io.fovea.kotlin

import io.fovea.Database
import io.fovea.ObjectSpec
import io.fovea.ScanOrder
import io.fovea.junit.FoveaDatabase
import io.fovea.schema.Dropped
import io.fovea.schema.Formerly
import io.fovea.schema.Id
import io.fovea.schema.Initial
import java.math.BigDecimal
import java.time.Instant
import org.junit.jupiter.api.Assertions.assertEquals
import org.junit.jupiter.api.Assertions.assertNull
import org.junit.jupiter.api.Assertions.assertThrows
import org.junit.jupiter.api.Assertions.assertTrue
import org.junit.jupiter.api.Test

/** Data classes as values and keys of tables. */
@FoveaDatabase
class DataClassesTest {
  @JvmRecord
  data class Line(val article: String, val count: Int)

  enum class State { OPEN, PAID }

  @JvmRecord
  data class Invoice(
      val customer: String,
      val total: BigDecimal,
      val lines: List<Line>,
      val state: State,
      val paid: Instant?,
      val note: String? = null,
  )

  @JvmRecord
  data class Place(val country: String, val city: String)

  @JvmRecord
  data class Shop(val name: String, val staff: Int)

  @JvmRecord
  data class Person(@Id val number: Long, val name: String, val fax: String)

  @JvmRecord
  @Dropped("fax")
  data class Citizen(
      @Id val number: Long,
      @Formerly("name") val title: String,
      @Initial("17") val age: Int,
  )

  data class Plain(val name: String)

  @Test
  fun recordsComeBackEqual(db: Database) {
    val invoices = db.table(INVOICES)
    val invoice =
        Invoice("Ada", BigDecimal("12.50"), listOf(Line("tea", 2)), State.OPEN, Instant.EPOCH)
    val unpaid = invoice.copy(paid = null, note = "later")
    db.run<RuntimeException> { tx ->
      invoices.put(tx, 1, invoice)
      invoices.put(tx, 2, unpaid)
    }
    db.read<Unit, RuntimeException> { tx ->
      assertEquals(invoice, invoices.get(tx, 1))
      assertEquals(unpaid, invoices.get(tx, 2))
      assertNull(invoices.get(tx, 2)?.paid)
    }
  }

  @Test
  fun copiesReplaceThem(db: Database) {
    val invoices = db.table(INVOICES)
    val invoice = Invoice("Ada", BigDecimal.TEN, emptyList(), State.OPEN, null)
    db.run<RuntimeException> { tx -> invoices.put(tx, 1, invoice) }
    db.run<RuntimeException> { tx -> invoices.update(tx, 1) { it.copy(state = State.PAID) } }
    assertEquals(State.PAID, invoices.asMap()[1]?.state)
  }

  @Test
  fun indexesHaveTheirComponents(db: Database) {
    val invoices = db.table(INVOICES)
    val byCustomer = invoices.index("byCustomer", String::class.java)
    val invoice = Invoice("Ada", BigDecimal.TEN, emptyList(), State.OPEN, null)
    val found =
        db.call<_, RuntimeException> { tx ->
          invoices.put(tx, 7, invoice)
          byCustomer.stream(tx, "Ada", ScanOrder.ASCENDING).map { it.key }.toList()
        }
    assertEquals(listOf(7L), found)
  }

  @Test
  fun recordsAreKeys(db: Database) {
    val shops = db.table(ObjectSpec.of("shops", Place::class.java, Shop::class.java))
    db.run<RuntimeException> { tx ->
      shops.put(tx, Place("UK", "London"), Shop("tea", 5))
      shops.put(tx, Place("DE", "Berlin"), Shop("cups", 2))
    }
    assertEquals(listOf("Berlin", "London"), shops.asMap().keys.map { it.city })
  }

  /** Java sees annotations of properties at the record's components. */
  @Test
  fun propertiesHaveTheAnnotationsOfComponents(db: Database) {
    val people = db.table(ObjectSpec.of("people", Long::class.java, Person::class.java))
    db.run<RuntimeException> { tx -> people.insert(tx, Person(7, "Ada", "1815")) }
    val citizens = db.table(ObjectSpec.of("people", Long::class.java, Citizen::class.java))
    assertEquals(Citizen(7, "Ada", 17), citizens.asMap()[7])
  }

  /** In Kotlin this is the class of the primitive type. */
  @Test
  fun theClassOfLongIsAKey(db: Database) {
    val shops = db.table(ObjectSpec.of("shops", Long::class.java, Shop::class.java))
    db.run<RuntimeException> { tx -> shops.put(tx, 1, Shop("tea", 5)) }
    assertEquals("tea", shops.asMap()[1]?.name)
  }

  @Test
  fun anOrdinaryDataClassIsRefused() {
    val refused =
        assertThrows(IllegalArgumentException::class.java) {
          ObjectSpec.of("plain", String::class.java, Plain::class.java)
        }
    val message = refused.message!!
    assertTrue(message.contains("DataClassesTest\$Plain is not a record class"), message)
  }

  private companion object {
    val INVOICES: ObjectSpec<Long, Invoice> =
        ObjectSpec.of("invoices", Long::class.javaObjectType, Invoice::class.java)
            .index("byCustomer", "customer")
  }
}
