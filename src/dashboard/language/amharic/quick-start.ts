import type { quickStart as english } from '../english/quick-start.ts';

export const quickStart: typeof english = {
  title: 'ፈጣን ጅማሮ',
  lead: 'ከቁልፍዎ እስከ መጀመሪያው የተከፈለ ትዕዛዝ፣ በፕሮግራምዎ ቋንቋ።',
  languages: 'የፕሮግራም ቋንቋ',
  productionNote: 'ይህ እውነተኛው አካባቢ ነው፤ እዚህ የሚመዘግቧቸው ትዕዛዞች በትክክለኛ ገንዘብ ይከፈላሉ።',
  key: {
    title: '1. ቁልፍዎ',
    body: 'ፕሮግራሞች ከአካባቢያቸው (environment) ያነቡታል። በገጽ፣ በመተግበሪያ ወይም በኮድ ማከማቻ ውስጥ በጭራሽ አያስቀምጡት።',
    none: 'በዚህ አካባቢ ገና ቁልፍ የለዎትም።',
    toKeys: 'ወደ API ቁልፎች',
    ending: 'የቁልፉ ቀሪ ክፍል ሲዘጋጅ ታይቷል። ማንም ከሌለው ሌላ ያዘጋጁ።',
  },
  register: {
    title: '2. ትዕዛዝ ይመዝግቡ',
    body: 'መልሱ ደንበኛዎን የሚልኩበትን checkout_url ይይዛል። order_number የእርስዎ ነው፤ በየጊዜው አዲስ ይሁን።',
  },
  pay: {
    title: '3. ይክፈሉት',
    sandbox: 'checkout_url ከፍተው ይክፈሉ፤ በመሞከሪያው ትክክለኛ ገንዘብ አይንቀሳቀስም።',
    production: 'checkout_url ከፍተው በትክክለኛ ገንዘብ ይክፈሉ።',
  },
  ask: {
    title: '4. የት እንደደረሰ ይጠይቁ',
    body: 'ደንበኛው መመለሱ ለመክፈሉ ማረጋገጫ አይደለም። ይጠይቁ ወይም በዌብሁክ እንዲነገርዎ ያድርጉ።',
  },
  webhook: {
    title: '5. እንዲነገርዎ ያድርጉ',
    body: 'በትዕዛዙ ላይ webhook_url ይጨምሩ፤ ሲያበቃ ወደዚያ ይነገራል። ከማመንዎ በፊት ፊርማውን ያረጋግጡ፦',
    toWebhooks: 'ወደ ዌብሁኮችዎ እና ሚስጥሮቻቸው',
  },
  reference: 'ያለው ሁሉ፣ ከሚሞክሩበት ገጽ ጋር፦',
};
