/// Something to sell. What it costs changes with time.
pub(super) struct Good {
    pub(super) id: &'static str,
    pub(super) title: &'static str,
    pub(super) category: &'static str,
    /// In roubles; 0 in a feed with mistakes.
    pub(super) price: u32,
    pub(super) place: &'static str,
    pub(super) colour: &'static str,
}

const fn good(
    id: &'static str,
    title: &'static str,
    category: &'static str,
    price: u32,
    place: &'static str,
    colour: &'static str,
) -> Good {
    Good { id, title, category, price, place, colour }
}

pub(super) const TOOLS: [Good; 8] = [
    good(
        "drill-18",
        "Дрель-шуруповёрт аккумуляторная 18 В",
        "Дрели и шуруповёрты",
        5_490,
        "Новосибирск",
        "синий",
    ),
    good("sds-800", "Перфоратор SDS-plus 800 Вт", "Перфораторы", 6_990, "Новосибирск", "зелёный"),
    good("grinder-125", "Болгарка 125 мм, 1200 Вт", "Болгарки и шлифмашины", 4_290, "Томск", "красный"),
    good("saw-190", "Циркулярная пила 190 мм", "Пилы", 7_350, "Новосибирск", "оранжевый"),
    good("ladder-5", "Стремянка алюминиевая, 5 ступеней", "Лестницы и стремянки", 3_100, "Омск", "серый"),
    good(
        "laser-360",
        "Лазерный уровень 360°, зелёный луч",
        "Измерительный инструмент",
        8_900,
        "Новосибирск",
        "чёрный",
    ),
    good("hammer-450", "Молоток слесарный 450 г", "Ручной инструмент", 790, "Томск", "коричневый"),
    good("weld-200", "Сварочный инвертор 200 А", "Сварочное оборудование", 9_990, "Омск", "жёлтый"),
];

/// What a seller's scales and labels say of a good; two sellers may say different things of the same one.
pub(super) struct Label {
    pub(super) id: &'static str,
    pub(super) vendor: &'static str,
    pub(super) barcode: &'static str,
    pub(super) weight_kg: &'static str,
}

const fn label(
    id: &'static str,
    vendor: &'static str,
    barcode: &'static str,
    weight_kg: &'static str,
) -> Label {
    Label { id, vendor, barcode, weight_kg }
}

pub(super) const TOOL_LABELS: [Label; 4] = [
    label("drill-18", "Север", "4600000000015", "1.9"),
    label("ladder-5", "Север", "4600000000053", "6.2"),
    label("hammer-450", "Север", "4600000000077", "0.62"),
    label("weld-200", "Север", "4600000000084", "7.4"),
];

/// Tools that the garden's seller has too.
pub(super) const GARDEN_TOOLS: [Good; 2] = [
    good(
        "ladder-5",
        "Лестница-стремянка для сада, 5 ступеней",
        "Лестницы и стремянки",
        3_350,
        "Казань",
        "серый",
    ),
    good("hammer-450", "Молоток 450 г с деревянной ручкой", "Ручной инструмент", 820, "Казань", "коричневый"),
];

pub(super) const GARDEN_LABELS: [Label; 2] =
    [label("ladder-5", "Лада", "4600000000053", "6.4"), label("hammer-450", "Лада", "4610000000074", "0.65")];

pub(super) const GARDEN: [Good; 8] = [
    good("apple-ant", "Саженец яблони «Антоновка»", "Растения", 1_200, "Казань", "зелёный"),
    good("spade-1", "Лопата штыковая с черенком", "Садовый инструмент", 950, "Казань", "серый"),
    good("hose-25", "Шланг поливочный 25 м", "Садовый инструмент", 1_890, "Самара", "зелёный"),
    good("house-4", "Теплица из поликарбоната 3 × 4 м", "Теплицы", 24_500, "Казань", "белый"),
    good("grill-2", "Мангал разборный с шампурами", "Мангалы и грили", 3_400, "Уфа", "чёрный"),
    good(
        "mower-40",
        "Газонокосилка электрическая 40 см",
        "Газонокосилки и триммеры",
        12_700,
        "Самара",
        "красный",
    ),
    good("peat-50", "Торф верховой, мешок 50 л", "Грунты и удобрения", 540, "Казань", "коричневый"),
    good("pool-3", "Каркасный бассейн 3 м", "Бассейны", 9_300, "Уфа", "голубой"),
];

pub(super) const BOOKS: [Good; 8] = [
    good("atlas-2", "Атлас мира, 2-е издание, книга", "Книги", 2_100, "Санкт-Петербург", "синий"),
    good("verse-1", "Стихи для детей, книга с картинками", "Книги", 450, "Москва", "розовый"),
    good("garden-b", "Энциклопедия садовода", "Книги", 1_350, "Москва", "зелёный"),
    good("comics-7", "Комиксы про кота, том 7", "Книги", 690, "Санкт-Петербург", "жёлтый"),
    good("novel-9", "Роман в трёх книгах", "Книги", 1_980, "Москва", "бордовый"),
    good("manga-3", "Манга о железной дороге, том 3", "Книги", 580, "Тула", "чёрный"),
    good("mags-80", "Подшивка журналов за 1980 год", "Журналы и газеты", 3_200, "Тула", "бежевый"),
    good("cook-12", "Книга о хлебе и закваске", "Книги", 1_150, "Москва", "коричневый"),
];
