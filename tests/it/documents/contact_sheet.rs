//! Tickets in every language and in many scripts. `.ci/pictures` makes pictures of them, to look at.

use std::path::Path;

use ticketing::documents::TicketDocuments;
use ticketing::order::{CreateOrder, NewCustomer};
use ticketing::organization::UpdateOrganization;
use ticketing::payment::ManualMethod;

use crate::common::*;
use crate::documents::tools::*;

/// What a ticket says.
struct Sample {
    name: &'static str,
    language: &'static str,
    title: &'static str,
    timezone: &'static str,
    location: &'static str,
    ticket_type: &'static str,
    buyer: &'static str,
    text: &'static str,
}

const FONTS: [&str; 9] = [
    "truetype/noto/NotoSansArabic-Regular.ttf",
    "truetype/noto/NotoSansArabic-Bold.ttf",
    "truetype/noto/NotoSansHebrew-Regular.ttf",
    "truetype/noto/NotoSansHebrew-Bold.ttf",
    "truetype/noto/NotoSansThai-Regular.ttf",
    "truetype/noto/NotoSansDevanagari-Regular.ttf",
    "truetype/noto/NotoSansGeorgian-Regular.ttf",
    "truetype/noto/NotoColorEmoji.ttf",
    "opentype/noto/NotoSansCJK-Regular.ttc",
];

const SAMPLES: [Sample; 18] = [
    Sample {
        name: "english",
        language: "en-GB",
        title: "Summer Night with the Philharmonic",
        timezone: "Europe/London",
        location: "Open-air stage in the Botanical Garden, Kew",
        ticket_type: "Parterre",
        buyer: "Ada Lovelace",
        text: "Doors open at 18:00. Please have this ticket ready, printed or on your phone.\n\nEach code admits one person once.",
    },
    Sample {
        name: "american",
        language: "en-US",
        title: "An Evening of Chamber Music at the Old Merchants’ Hall",
        timezone: "America/New_York",
        location: "Old Merchants’ Hall, 110 State Street, Albany, NY",
        ticket_type: "Orchestra, row 12",
        buyer: "Grace Brewster Hopper",
        text: "Doors open at 6:00 PM.",
    },
    Sample {
        name: "german",
        language: "de-AT",
        title: "Sommernachtskonzert der Philharmoniker",
        timezone: "Europe/Vienna",
        location: "Schlosspark Schönbrunn, Wien",
        ticket_type: "Parterre, Reihe 1 bis 10",
        buyer: "Jörg Großmann-Weiß",
        text: "Einlass ab 18 Uhr. Größere Taschen bleiben an der Garderobe.",
    },
    Sample {
        name: "french",
        language: "fr",
        title: "Une nuit d’été à l’Opéra",
        timezone: "Europe/Paris",
        location: "Palais Garnier, Paris",
        ticket_type: "Deuxième balcon",
        buyer: "Éloïse Lefèvre",
        text: "Ouverture des portes à 18 h. L’accès n’est plus garanti après le début.",
    },
    Sample {
        name: "spanish",
        language: "es-MX",
        title: "Noche de verano con la Filarmónica",
        timezone: "America/Mexico_City",
        location: "Bosque de Chapultepec, Ciudad de México",
        ticket_type: "Butaca de patio",
        buyer: "Begoña Núñez Ibáñez",
        text: "¿Llegas tarde? Las puertas cierran a las 19:15.",
    },
    Sample {
        name: "italian",
        language: "it",
        title: "Notte d’estate con la Filarmonica",
        timezone: "Europe/Rome",
        location: "Terme di Caracalla, Roma",
        ticket_type: "Platea",
        buyer: "Niccolò D’Amè",
        text: "Apertura porte alle 18:00.",
    },
    Sample {
        name: "dutch",
        language: "nl",
        title: "Zomeravond met het Filharmonisch Orkest",
        timezone: "Europe/Amsterdam",
        location: "Vondelpark, Amsterdam",
        ticket_type: "Zitplaats",
        buyer: "Ĳsbrand van ’t Hof",
        text: "Deuren open om 18.00 uur.",
    },
    Sample {
        name: "arabic",
        language: "ar-EG",
        title: "ليلة صيفية مع الأوركسترا الفيلهارمونية في حديقة الأزهر",
        timezone: "Africa/Cairo",
        location: "حديقة الأزهر، القاهرة",
        ticket_type: "المقاعد الأمامية",
        buyer: "عبد الله محمد",
        text: "تفتح الأبواب الساعة 18:00. يرجى إبراز هذه التذكرة مطبوعة أو على الهاتف عند المدخل، ويسمح كل رمز بدخول شخص واحد مرة واحدة فقط.\nEach code admits one person.",
    },
    Sample {
        name: "hebrew",
        language: "he",
        title: "ערב קיץ עם התזמורת הפילהרמונית",
        timezone: "Asia/Jerusalem",
        location: "היכל התרבות, תל אביב",
        ticket_type: "יציע (Balcony)",
        buyer: "דוד Cohen כהן",
        text: "הדלתות נפתחות בשעה 18:00. נא להציג את הכרטיס בכניסה.",
    },
    Sample {
        name: "arabic-name",
        language: "en",
        title: "Summer Night with the Philharmonic",
        timezone: "Europe/London",
        location: "Royal Albert Hall, London",
        ticket_type: "Stalls",
        buyer: "عبد الله محمد",
        text: "Doors open at 18:00.\nتفتح الأبواب الساعة 18:00.",
    },
    Sample {
        name: "thai",
        language: "th",
        title: "คอนเสิร์ตค่ำคืนฤดูร้อนกับวงดุริยางค์ฟิลฮาร์โมนิก",
        timezone: "Asia/Bangkok",
        location: "สวนลุมพินี กรุงเทพมหานคร",
        ticket_type: "ที่นั่งด้านหน้า",
        buyer: "สมชาย ใจดี",
        text: "ประตูเปิดเวลา 18:00 น. กรุณาเตรียมบัตรนี้ให้พร้อมสำหรับการตรวจสอบที่ทางเข้า",
    },
    Sample {
        name: "hindi",
        language: "hi",
        title: "फ़िलहारमोनिक के साथ गर्मियों की रात",
        timezone: "Asia/Kolkata",
        location: "नेहरू पार्क, नई दिल्ली",
        ticket_type: "अगली पंक्ति",
        buyer: "अनिता शर्मा",
        text: "द्वार 18:00 बजे खुलेंगे।",
    },
    Sample {
        name: "japanese",
        language: "ja",
        title: "夏の夜、直子と骨董市。",
        timezone: "Asia/Tokyo",
        location: "日比谷公園野外音楽堂、東京都千代田区",
        ticket_type: "指定席",
        buyer: "山田 太郎",
        text: "開場は18時です。入場の際は、この券をご提示ください。",
    },
    Sample {
        name: "korean",
        language: "ko",
        title: "필하모닉과 함께하는 여름밤",
        timezone: "Asia/Seoul",
        location: "서울숲 야외무대, 서울특별시",
        ticket_type: "지정석",
        buyer: "김민수",
        text: "입장은 18시부터입니다. 이 티켓을 제시해 주세요.",
    },
    Sample {
        name: "simplified",
        language: "zh-CN",
        title: "夏夜，直子与骨董市场。",
        timezone: "Asia/Shanghai",
        location: "中山公园音乐堂，北京",
        ticket_type: "前排座位",
        buyer: "王小明",
        text: "18时开门。入场时，请出示此票。",
    },
    Sample {
        name: "traditional",
        language: "zh-TW",
        title: "夏夜，直子與骨董市場。",
        timezone: "Asia/Taipei",
        location: "大安森林公園露天音樂台，臺北",
        ticket_type: "前排座位",
        buyer: "王小明",
        text: "18時開門。入場時，請出示此票。",
    },
    Sample {
        name: "cyrillic-greek-georgian",
        language: "uk",
        title: "Літня ніч з філармонією – Καλοκαιρινή νύχτα",
        timezone: "Europe/Kyiv",
        location: "თბილისი, Київ, Αθήνα",
        ticket_type: "Партер",
        buyer: "Олександр Щукін",
        text: "Двері відчиняються о 18:00.",
    },
    Sample {
        name: "emoji",
        language: "en",
        title: "🎉 Emoji Party 🎈 — bring your 🚀!",
        timezone: "America/Argentina/Buenos_Aires",
        location: "Parque Centenario 🌳",
        ticket_type: "VIP ⭐️",
        buyer: "Ada 👩🏽\u{200D}🚀",
        text: "Doors open at 18:00 🕕",
    },
];

#[test]
fn a_ticket_in_each_language_and_script_has_every_letter_and_scans() {
    let mut documents = TicketDocuments::default();
    for file in FONTS {
        let Ok(font) = std::fs::read(Path::new("/usr/share/fonts").join(file)) else {
            return unavailable(format_args!("{file} is not installed"));
        };
        documents = documents.font(font);
    }
    let fixture = with_documents(documents);
    let (service, caller) = (&fixture.service, &fixture.caller);
    let name = UpdateOrganization::default().name("Friends of the Philharmonic");
    service.update_organization(caller.organization(), name).expect("renamed");
    for sample in SAMPLES {
        let event = fixture.event_with(|event| {
            event.title = sample.title.to_owned();
            event.location = Some(sample.location.to_owned());
            event.timezone = Some(sample.timezone.to_owned());
            event.start_date = at("2027-06-12T17:30:00Z");
            event.end_date = Some(at("2027-06-12T20:30:00Z"));
        });
        let ticket_type = fixture.ticket_type_with(&event, |ticket_type| {
            ticket_type.name = sample.ticket_type.to_owned();
            ticket_type.ticket_text = Some(sample.text.to_owned());
            ticket_type.valid_from = Some(at("2027-06-12T16:00:00Z"));
            ticket_type.ticket_logo = None;
        });
        let buyer = NewCustomer::new(sample.buyer, "buyer@example.com");
        let mut request = CreateOrder::new(event.id, buyer, ticket_type.id, 2);
        request.language = Some(sample.language.to_owned());
        let order = service.create_order(caller, request).expect("an order").order;
        service.mark_order_paid(caller, order.id, ManualMethod::Cash).expect("paid");
        let file = File::named(service.get_order_document(caller, order.id).expect("a document"), sample.name);
        assert!(file.document.missing_glyphs.is_empty(), "{}: {:?}", sample.name, file.document.missing_glyphs);
        assert!(file.is_accessible(), "{}", sample.name);
        run("qpdf", &["--check", utf8(&file.path())]);
        let Some(pages) = file.pages() else { return };
        let codes: Vec<_> = pages.iter().flat_map(|page| Gray::read(page).qr_codes()).collect();
        assert_eq!(codes.len(), 2, "{}", sample.name);
    }
}
